import { type ErrorRequestHandler, type Handler, type Request, type Response, Router } from "express";
import { type Services, contextOf } from "../../operation/context.js";
import { execute } from "../../operation/execute.js";
import { Failure, InvalidInput } from "../../operation/failure.js";
import type { Operation } from "../../operation/operation.js";
import { type Identify, identifyCaller } from "../authentication.js";
import { readBodyUpTo } from "../body.js";
import { noteFailure, scopeOf } from "../http.js";
import {
  type ShownInvitation,
  acceptedPage,
  declinedPage,
  failurePage,
  invitationPage,
  isPending,
  pathOf,
  refusedPage,
} from "./invitation.js";
import { PAGE_HEADERS } from "./layout.js";

/** A form holds a code and an answer. */
const FORM_MAX_BYTES = 4_096;

/**
 * The page that an invitation's mail links to, for people without a key: they ask for a code, and answer with it.
 * A page of another site cannot answer for them: it knows neither the token in the address nor the code.
 */
export function invitationPages(operations: InvitationOperations, parts: DoorParts): Router {
  const router = Router({ caseSensitive: true, strict: true });
  const pages = Router({ caseSensitive: true, strict: true });
  const door = new PageDoor(operations, parts);
  pages.use(pageHeaders);
  pages.get("/:token", show(door));
  pages.post("/:token/code", sendCode(door));
  pages.post("/:token/answer", readBodyUpTo(FORM_MAX_BYTES), answer(door));
  pages.use(failed);
  return router.use("/invitations", pages);
}

const pageHeaders: Handler = (_request, response, next) => {
  response.set(PAGE_HEADERS);
  next();
};

/** The operations that the page runs, by what it needs of them: a door knows no feature. */
export interface InvitationOperations {
  readonly invitation: Operation<{ token: string }, ShownInvitation>;
  readonly acceptInvitation: Operation<{ token: string }>;
  readonly declineInvitation: Operation<{ token: string }>;
  readonly signUp: Operation<{ email: string }>;
  readonly confirmSignUp: Operation<{ email: string; code: string; keyName?: string | null }, NewKey>;
  readonly revokeApiKey: Operation<{ id: string }>;
}

interface NewKey {
  readonly id: string;
  readonly key: string;
}

interface DoorParts {
  readonly services: Services;
  readonly identify: Identify;
}

/** Runs operations as every door does. */
class PageDoor {
  readonly operations: InvitationOperations;
  readonly #parts: DoorParts;

  constructor(operations: InvitationOperations, parts: DoorParts) {
    this.operations = operations;
    this.#parts = parts;
  }

  /** With the key that is given, or without one. */
  async run<Input extends object, Output extends object>(
    response: Response,
    operation: Operation<Input, Output>,
    input: Input,
    key?: string,
  ): Promise<Output> {
    const { services, identify } = this.#parts;
    const scope = scopeOf(response);
    scope.operations.push(operation.name);
    if (key !== undefined) await identifyCaller(scope, identify, `Bearer ${key}`);
    const { caller, clientAddress, patience } = scope;
    const context = contextOf(services, { caller, clientAddress, door: "page", patience });
    return execute(operation, context, Object.assign(new operation.input(), input));
  }
}

const tokenIn = (request: Request): string => String(request.params["token"]);

const invitationIn = (door: PageDoor, request: Request, response: Response): Promise<ShownInvitation> =>
  door.run(response, door.operations.invitation, { token: tokenIn(request) });

const show =
  (door: PageDoor): Handler =>
  async (request, response) => {
    const invitation = await invitationIn(door, request, response);
    const situation = { token: tokenIn(request), codeSent: "code" in request.query };
    // What it says when it is over is a conflict to answer, so the address says the same to programs.
    response.status(isPending(invitation) ? 200 : 409).send(invitationPage(invitation, situation));
  };

const sendCode =
  (door: PageDoor): Handler =>
  async (request, response) => {
    const invitation = await invitationIn(door, request, response);
    if (isPending(invitation)) await door.run(response, door.operations.signUp, { email: invitation.email });
    // A page that is got, so that reloading it does not send another code.
    response.redirect(303, `${pathOf(tokenIn(request))}?code`);
  };

const answer =
  (door: PageDoor): Handler =>
  async (request, response) => {
    const token = tokenIn(request);
    const { code, accepts } = answerIn(request.body);
    const invitation = await invitationIn(door, request, response);
    // Before the code, which would be used up for nothing.
    if (!isPending(invitation)) {
      response.status(409).send(invitationPage(invitation, { token, codeSent: false }));
      return;
    }
    const made = await confirmAddress(door, response, invitation.email, code);
    if (made instanceof Failure) {
      response.send(invitationPage(invitation, { token, codeSent: true, problem: made }));
      return;
    }
    try {
      const { acceptInvitation, declineInvitation } = door.operations;
      await door.run(response, accepts ? acceptInvitation : declineInvitation, { token }, made.key);
      // Who declines wants nothing from us, so there shall be no key that nobody has seen.
      if (!accepts) await door.run(response, door.operations.revokeApiKey, { id: made.id });
    } catch (error) {
      const failure = noteFailure(error, response);
      response.send(failure ? refusedPage(failure, token, made.key) : failurePage(undefined));
      return;
    }
    response.send(accepts ? acceptedPage(invitation, made.key) : declinedPage(invitation));
  };

/** The new key; or, where another code can be tried, why there is none. */
async function confirmAddress(door: PageDoor, response: Response, email: string, code: string) {
  try {
    return await door.run(response, door.operations.confirmSignUp, {
      email,
      code,
      keyName: "Invitation",
    });
  } catch (error) {
    const isWrong = error instanceof Failure && error.kind === "bad_request";
    const failure = isWrong ? noteFailure(error, response) : undefined;
    if (!failure) throw error;
    return failure;
  }
}

/** @throws InvalidInput when it is not what the page's form sends. */
function answerIn(body: unknown): { code: string; accepts: boolean } {
  const form = new URLSearchParams(Buffer.isBuffer(body) ? body.toString() : "");
  const [code, answer] = [form.get("code"), form.get("answer")];
  if (code === null || (answer !== "accept" && answer !== "decline")) {
    throw new InvalidInput([{ path: "", message: "Send the form of the invitation's page." }]);
  }
  // People copy codes with spaces, and mobile keyboards add them.
  return { code: code.replaceAll(/[\s-]/g, ""), accepts: answer === "accept" };
}

const failed: ErrorRequestHandler = (error: unknown, _request, response, next) => {
  const failure = noteFailure(error, response);
  if (response.headersSent) return next(error);
  response.send(failurePage(failure));
};
