import { type ErrorRequestHandler, type Handler, type Request, type Response, Router } from "express";
import { AccountSuspended, Failure, InvalidInput, Unauthorized } from "../../operation/failure.js";
import { identifyCaller } from "../authentication.js";
import { formIn, readBodyUpTo } from "../body.js";
import { noteFailure } from "../http.js";
import { ACCOUNT, linkFrom } from "../navigation.js";
import { refuseOtherMethods } from "../plain-errors.js";
import { scopeOf } from "../request-scope.js";
import { contextOfPage, runOnPage } from "../run-on-page.js";
import { accountPage, codePage, signInPage } from "./account.js";
import { type AccountParts, type Action, BILLING_ACTIONS, PEOPLE_ACTIONS, type Visit } from "./account-actions.js";
import { accountProblemPage } from "./account-frame.js";
import { BUG_NOTE } from "./forms.js";
import { setPageHeaders } from "./layout.js";
import { readAccount } from "./read-account.js";

const FORM_MAX_BYTES = 4_096;

/**
 * The page on which people without a program see who is in their team and what it has bought, and change what they may.
 * They sign in by a mailed code, for which the browser gets a key that expires soon, in a cookie that no script reads.
 * Everything runs as the operations of the other doors do, with that key.
 */
export function accountPages(parts: AccountParts): Router {
  const router = Router({ caseSensitive: true, strict: true });
  const begin = [setPageHeaders, nameOrigin, refuseOtherSites(parts)];
  router.get(ACCOUNT.path, begin, showAccount(parts));
  const answers: Readonly<Record<string, Handler>> = {
    "/code": sendCode(parts),
    "/sign-in": signIn(parts),
    "/sign-out": signOut(parts),
    ...handlersOf(BILLING_ACTIONS, (action) => act(parts, action, toAccount)),
    ...handlersOf(PEOPLE_ACTIONS, (action) => act(parts, action, toPeople)),
  };
  for (const [below, answer] of Object.entries(answers)) {
    const path = ACCOUNT.path + below;
    router.post(path, begin, readBodyUpTo(FORM_MAX_BYTES), answer);
    // Opened from a browser's history. A phone may drop the page while its owner reads the mail with the code.
    router.get(path, below === "/code" || below === "/sign-in" ? askForCode : toAccount);
    router.all(path, refuseOtherMethods(["GET", "HEAD", "POST"]));
  }
  router.all(ACCOUNT.path, refuseOtherMethods(["GET", "HEAD"]));
  return router.use(ACCOUNT.path, showFailure);
}

const handlersOf = (actions: Readonly<Record<string, Action>>, handle: (action: Action) => Handler) =>
  Object.fromEntries(Object.entries(actions).map(([below, action]) => [below, handle(action)]));

/** With `no-referrer`, browsers would send the forms with the origin `null`. */
const nameOrigin: Handler = (_request, response, next) => {
  response.set("Referrer-Policy", "same-origin");
  next();
};

/**
 * A page of another site, also of a neighbour below the same domain, cannot send these forms. `SameSite` keeps the
 * cookie from those of other domains; this also refuses to sign somebody in as another.
 */
const refuseOtherSites =
  ({ services }: AccountParts): Handler =>
  (request, _response, next) => {
    if (request.method === "POST" && isFromOtherSite(request, services.publicUrl())) throw new OtherSite();
    next();
  };

/**
 * Without TLS, and before 2023 in Safari, browsers do not send `Sec-Fetch-Site`; then `Origin` tells it. A program sends
 * neither. The only browsers that do so are older than 2020, and the cookie's `SameSite` protects people there.
 */
function isFromOtherSite(request: Request, publicUrl: string): boolean {
  const site = request.get("sec-fetch-site");
  if (site !== undefined) return site !== "same-origin" && site !== "none";
  const from = request.get("origin");
  const { origin, protocol } = new URL(publicUrl);
  // A proxy may change the host, or not tell that people use TLS. A page without TLS may be anybody's.
  const own = [origin, `https://${request.host}`, `${protocol}//${request.host}`];
  return from !== undefined && !own.includes(from);
}

export class OtherSite extends Failure {
  readonly kind = "forbidden";

  constructor() {
    super(
      "This was sent by a page of another site, so it was not done. Open this service's own page, and do it there.",
    );
  }
}

/**
 * Where people use TLS, browsers take a cookie of this name from this host alone: a neighbour below the same domain could
 * otherwise sign somebody in as another. `__Host-` demands the path `/`, so installations at several paths of one host
 * have other names. Without it, the browser sends the cookie to the page's own addresses alone, also behind a proxy that
 * adds a prefix.
 */
function cookieOf({ services }: AccountParts) {
  const { protocol, pathname } = new URL(services.publicUrl());
  const name = `memory_graph_key${pathname === "/" ? "" : encodeURIComponent(pathname)}`;
  return protocol === "https:" ? { name: `__Host-${name}`, where: "; Path=/; Secure" } : { name, where: "" };
}

function setCookie(parts: AccountParts, response: Response, key: string, seconds: number): void {
  const { name, where } = cookieOf(parts);
  response.set("Set-Cookie", `${name}=${key}; Max-Age=${seconds}; HttpOnly; SameSite=Lax${where}`);
}

function keyIn(parts: AccountParts, { headers: { cookie = "" } }: Request): string | undefined {
  const sent = `${cookieOf(parts).name}=`;
  const key = cookie
    .split("; ")
    .find((pair) => pair.startsWith(sent))
    ?.slice(sent.length);
  return key || undefined;
}

/** Whether somebody is signed in; the scope has the caller from then on. */
async function isSignedIn(parts: AccountParts, request: Request, response: Response): Promise<boolean> {
  const key = keyIn(parts, request);
  if (key === undefined) return false;
  try {
    await identifyCaller(scopeOf(response), parts.identify, `Bearer ${key}`);
    return true;
  } catch (error) {
    if (error instanceof Unauthorized) return false;
    throw error;
  }
}

/** The path without a slash at the end, which `use` adds: links would lead out of a proxy's prefix. */
const hereIn = ({ baseUrl, path }: Request): string => (baseUrl + path).replace(/\/$/, "");

/** Redirected to a GET, so that reloading the page does nothing again. */
const toAccount: Handler = (request, response) => response.redirect(303, linkFrom(hereIn(request), ACCOUNT));

const toPeople: Handler = (request, response) =>
  response.redirect(303, `${linkFrom(hereIn(request), ACCOUNT)}?done#people`);

const askForCode: Handler = (request, response) => response.redirect(303, `${linkFrom(hereIn(request), ACCOUNT)}?code`);

const showAccount =
  (parts: AccountParts): Handler =>
  async (request, response) => {
    const place = { here: hereIn(request), isDone: "done" in request.query };
    const isKnown = await isSignedIn(parts, request, response);
    if (isKnown) response.send(accountPage(await readAccount(parts, response, request.query), place));
    else response.send("code" in request.query ? codePage(place) : signInPage(place));
  };

/** For an attempt that failed: the page that says why, with the status of the failure. Throws what is no failure. */
const explained =
  (response: Response, show: (problem: Failure) => string | Promise<string>) =>
  (error: unknown): string | Promise<string> => {
    if (!(error instanceof Failure)) throw error;
    noteFailure(error, response);
    return show(error);
  };

const sendCode =
  (parts: AccountParts): Handler =>
  async (request, response) => {
    const place = { here: hereIn(request) };
    const email = formIn(request).get("email") ?? "";
    const ask = async () => {
      await runOnPage(parts.services, response, parts.signUp, { email });
      return codePage(place, email);
    };
    response.send(await ask().catch(explained(response, (problem) => signInPage({ ...place, problem }, email))));
  };

const signIn =
  (parts: AccountParts): Handler =>
  async (request, response, next) => {
    const form = formIn(request);
    const proof = { email: form.get("email") ?? "", code: form.get("code") ?? "" };
    const enter = async () => {
      const key = await parts.signIn(contextOfPage(parts.services, response, "signIn"), proof);
      setCookie(parts, response, key, parts.signedInMs / 1_000);
    };
    const page = await enter().catch(
      explained(response, (problem) => {
        const place = { here: hereIn(request), problem };
        // A wrong address is asked for again, as a form with the code alone would repeat it.
        return problem instanceof InvalidInput ? codePage(place) : codePage(place, proof.email);
      }),
    );
    if (page === undefined) toAccount(request, response, next);
    else response.send(page);
  };

const signOut =
  (parts: AccountParts): Handler =>
  async (request, response, next) => {
    // The key of a suspended user is refused everywhere, and ends within the hour.
    const isKnown = await isSignedIn(parts, request, response).catch((error: unknown) => {
      if (error instanceof AccountSuspended) return false;
      throw error;
    });
    if (isKnown) await parts.signOut(contextOfPage(parts.services, response, "signOut"));
    setCookie(parts, response, "", 0);
    toAccount(request, response, next);
  };

const act =
  (parts: AccountParts, action: Action, goBack: Handler): Handler =>
  async (request, response, next) => {
    const here = hereIn(request);
    if (!(await isSignedIn(parts, request, response))) return void toAccount(request, response, next);
    const form = formIn(request);
    const run: Visit["run"] = (operation, input) => runOnPage(parts.services, response, operation, input);
    const page = await action({ parts, form, here, run }).catch(
      explained(response, async (problem) => {
        const place = { here, problem, invited: form.get("email") ?? undefined };
        return accountPage(await readAccount(parts, response), place);
      }),
    );
    if (page === undefined) goBack(request, response, next);
    else response.send(page);
  };

const showFailure: ErrorRequestHandler = (error: unknown, request, response, next) => {
  const failure = noteFailure(error, response);
  if (response.headersSent) return next(error);
  response.send(accountProblemPage(failure, BUG_NOTE, hereIn(request)));
};
