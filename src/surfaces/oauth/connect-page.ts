import type { Handler, Request, Response } from "express";
import type { Context, Services } from "../../operation/context.js";
import { type Failure, InvalidInput } from "../../operation/failure.js";
import type { Operation } from "../../operation/operation.js";
import type { Scope } from "../../operation/permission.js";
import { noteFailure } from "../http.js";
import { formIn } from "../body.js";
import { contextOfPage, runOnPage } from "../run-on-page.js";
import { innerRequest } from "./inner-request.js";
import type { AuthorizationServer, PendingRequest } from "./server.js";
import { BASE, type OAuthUrls } from "./urls.js";

/** What the page shows. */
interface View extends Pick<PendingRequest, "clientName" | "scopes" | "email"> {
  readonly path: string;
  readonly host: string;
  /** An address to which no code could be sent, so that the person can correct it. */
  readonly refusedEmail?: string | undefined;
  readonly problem?: Failure | undefined;
}

export interface ConnectParts {
  readonly urls: OAuthUrls;
  /** What a program can be allowed: the scopes of the tools. */
  readonly scopes: readonly Scope[];
  readonly services: Services;
  /** Mails a code to an address. */
  readonly signUp: Operation<{ email: string }>;
  /** Exchanges the code for a key, with whose rights the program acts. */
  connect(
    context: Context,
    proof: { readonly email: string; readonly code: string },
    client: { readonly name: string; readonly host: string; readonly scopes: readonly Scope[] },
  ): Promise<{ readonly keyId: string; readonly userId: string }>;
  readonly pages: {
    show(view: View): string;
    showProblem(message: string): string;
    headers(redirectUri?: string): Readonly<Record<string, string>>;
  };
}

/** The page where a person signs in and answers. Other sites cannot answer: the cookie is not sent for their forms. */
export class ConnectPage {
  constructor(
    private readonly parts: ConnectParts,
    private readonly server: AuthorizationServer,
  ) {}

  readonly show: Handler = async (request, response) => {
    const pending = await this.#pending(request, response);
    const shown = "address" in request.query ? { ...pending, email: undefined } : pending;
    if (pending.scopes.length > 0) return this.#send(response, shown);
    const offered = this.parts.scopes.join(", ");
    throw InvalidInput.at("", `There is nothing to allow. The program must ask for one of these: ${offered}.`);
  };

  readonly sendCode: Handler = async (request, response) => {
    const pending = await this.#pending(request, response);
    const email = formIn(request).get("email") ?? "";
    const { services, signUp } = this.parts;
    try {
      await runOnPage(services, response, signUp, { email });
    } catch (error) {
      // Another address than before is entered again; for the same one the code that was sent can still be entered.
      const shown = { ...pending, email: email === pending.email ? email : undefined };
      return this.#sendProblem(error, response, shown, email);
    }
    await pending.rememberEmail(email);
    // Redirected to a GET, so that reloading the page does not send another code.
    response.redirect(303, this.parts.urls.pagePath + pending.id);
  };

  readonly answer: Handler = async (request, response) => {
    const pending = await this.#pending(request, response);
    const form = formIn(request);
    if (form.get("answer") === "refuse") return pending.refuse("The person refused.");
    const { email, scopes, clientName } = pending;
    if (form.get("answer") !== "allow" || email === undefined) return this.#send(response, pending);
    const code = form.get("code") ?? "";
    const host = hostOf(pending.redirectUri);
    const client = { name: clientName ?? host, host, scopes };
    try {
      const context = contextOfPage(this.parts.services, response, "connectClient");
      await pending.agree(await this.parts.connect(context, { email, code }, client));
    } catch (error) {
      return this.#sendProblem(error, response, pending);
    }
  };

  async #pending(request: Request, response: Response): Promise<PendingRequest> {
    const inner = innerRequest(request, this.parts.urls.issuer, request.originalUrl.slice(BASE.length));
    const pending = await this.server.pending(inner, response);
    if (pending.id !== request.params["id"])
      throw InvalidInput.at("", "This page is for another request. Connect the program again.");
    return pending;
  }

  /** Shows what was wrong, so that the person can try again. */
  #sendProblem(error: unknown, response: Response, pending: PendingRequest, refusedEmail?: string): void {
    if (response.headersSent) throw error;
    const problem = noteFailure(error, response);
    if (!problem) throw error;
    this.#send(response, pending, { problem, refusedEmail });
  }

  #send(response: Response, pending: PendingRequest, attempt: Pick<View, "problem" | "refusedEmail"> = {}): void {
    const { pages, urls } = this.parts;
    const { id, clientName, scopes, email, redirectUri } = pending;
    const path = urls.pagePath + id;
    response.set(pages.headers(redirectUri));
    response.send(pages.show({ path, clientName, host: hostOf(redirectUri), scopes, email, ...attempt }));
  }
}

/** Shows people where a redirect URI leads: its host, or the scheme of an app on their device. */
function hostOf(redirectUri: string): string {
  const { protocol, host } = new URL(redirectUri);
  return /^https?:$/.test(protocol) ? host : protocol;
}
