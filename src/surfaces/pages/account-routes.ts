import { type ErrorRequestHandler, type Handler, type Request, type Response, Router } from "express";
import type { Context, Services } from "../../operation/context.js";
import { Failure, InvalidInput, Unauthorized } from "../../operation/failure.js";
import type { Operation } from "../../operation/operation.js";
import { type Identify, identifyCaller } from "../authentication.js";
import { formIn, readBodyUpTo } from "../body.js";
import { noteFailure } from "../http.js";
import { ACCOUNT, linkFrom } from "../navigation.js";
import { refuseOtherMethods } from "../plain-errors.js";
import { scopeOf } from "../request-scope.js";
import { contextOfPage, runOnPage } from "../run-on-page.js";
import {
  type Account,
  type ShownInvoice,
  type ShownPreview,
  type ShownSubscription,
  type ShownTeam,
  accountPage,
  accountProblemPage,
  codePage,
  leadPage,
  previewPage,
  pricedFor,
  signInPage,
} from "./account.js";
import { BUG_NOTE } from "./forms.js";
import { setPageHeaders } from "./layout.js";

/** What the page runs. Given as parameters, since doors may not import features. */
export interface AccountParts {
  readonly services: Services;
  readonly identify: Identify;
  readonly signUp: Operation<{ email: string }>;
  /** Exchanges a code for a key. */
  readonly signIn: (context: Context, proof: { readonly email: string; readonly code: string }) => Promise<string>;
  readonly signOut: (context: Context) => Promise<void>;
  readonly signedInMs: number;
  readonly myTeam: Operation<object, ShownTeam>;
  readonly createTeam: Operation<{ name: string; maxMembers: number }>;
  readonly updateTeam: Operation<{ teamId: string; maxMembers?: number }>;
  readonly teamSubscription: Operation<object, ShownSubscription>;
  readonly teamInvoices: Operation<{ limit: number }, { invoices: readonly ShownInvoice[] }>;
  readonly teamUpgradePreview: Operation<{ maxMembers: number }, ShownPreview>;
  readonly createTeamCheckout: Operation<{ interval: string }, { url: string }>;
  readonly upgradeTeam: Operation<{ maxMembers: number }>;
  readonly downgradeTeam: Operation<{ maxMembers: number }>;
  readonly cancelTeamSubscription: Operation;
  readonly resumeTeamSubscription: Operation;
  readonly openBillingPortal: Operation<object, { url: string }>;
  readonly isLive: (subscription: ShownSubscription) => boolean;
  readonly isPaid: (subscription: ShownSubscription) => boolean;
}

const FORM_MAX_BYTES = 4_096;
const INVOICES = 12;

/**
 * The page on which people without a program see what their team has bought, and its owner changes it. They sign in by a
 * mailed code, for which the browser gets a key that expires soon, in a cookie that no script reads. Everything runs as
 * the operations of the other doors do, with that key.
 */
export function accountPages(parts: AccountParts): Router {
  const router = Router({ caseSensitive: true, strict: true });
  const begin = [setPageHeaders, refuseOtherSites];
  router.get(ACCOUNT.path, begin, showAccount(parts));
  const answers: Readonly<Record<string, Handler>> = {
    "/code": sendCode(parts),
    "/sign-in": signIn(parts),
    "/sign-out": signOut(parts),
    ...Object.fromEntries(Object.entries(ACTIONS).map(([below, action]) => [below, act(parts, action)])),
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

/**
 * A page of another site, also of a neighbour below the same domain, cannot send these forms. `SameSite` keeps the
 * cookie from those of other domains; this also refuses to sign somebody in as another.
 */
const refuseOtherSites: Handler = (request, _response, next) => {
  const from = request.get("sec-fetch-site") ?? "none";
  if (request.method === "POST" && from !== "same-origin" && from !== "none") throw new OtherSite();
  next();
};

export class OtherSite extends Failure {
  readonly kind = "forbidden";

  constructor() {
    super("This was sent by a page of another site, so it was not done.");
  }
}

/**
 * Where people use TLS, browsers take a cookie of this name from this host alone: a neighbour below the same domain could
 * otherwise sign somebody in as another. The name demands the path. Without it, the browser sends the cookie to the
 * page's own addresses alone, also behind a proxy that adds a prefix.
 */
const cookieOf = ({ services }: AccountParts) =>
  services.publicUrl().startsWith("https:")
    ? { name: "__Host-memory_graph_key", where: "; Path=/; Secure" }
    : { name: "memory_graph_key", where: "" };

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

const askForCode: Handler = (request, response) => response.redirect(303, `${linkFrom(hereIn(request), ACCOUNT)}?code`);

const showAccount =
  (parts: AccountParts): Handler =>
  async (request, response) => {
    const place = { here: hereIn(request) };
    const isKnown = await isSignedIn(parts, request, response);
    if (isKnown) response.send(accountPage(await readAccount(parts, response), place));
    else response.send("code" in request.query ? codePage(place) : signInPage(place));
  };

async function readAccount(parts: AccountParts, response: Response): Promise<Account> {
  const { services } = parts;
  const { caller } = scopeOf(response);
  const { payments, freeSeats } = services.billing;
  const sold = payments && { freeSeats, byYear: payments.prices.year !== undefined };
  const known = { email: caller?.email ?? "", sold };
  if (!caller?.team) return { ...known, owned: null };
  const [team, subscription] = await Promise.all([
    runOnPage(services, response, parts.myTeam, {}),
    runOnPage(services, response, parts.teamSubscription, {}),
  ]);
  const shown = { team, subscription, isLive: parts.isLive(subscription), isPaid: parts.isPaid(subscription) };
  if (caller.team.role !== "owner") return { ...known, owned: { ...shown, isOwner: false } };
  return { ...known, owned: { ...shown, isOwner: true, invoices: await readInvoices(parts, response) } };
}

/** Undefined if the payment provider fails, or was asked too often: the rest of the page needs no provider. */
async function readInvoices(
  { services, teamInvoices }: AccountParts,
  response: Response,
): Promise<readonly ShownInvoice[] | undefined> {
  try {
    return (await runOnPage(services, response, teamInvoices, { limit: INVOICES })).invoices;
  } catch (error) {
    if (error instanceof Failure) return undefined;
    throw error;
  }
}

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
    if (await isSignedIn(parts, request, response)) {
      await parts.signOut(contextOfPage(parts.services, response, "signOut"));
    }
    setCookie(parts, response, "", 0);
    toAccount(request, response, next);
  };

/** Changes something, and returns a page to show instead of the account, if any. */
type Action = (visit: Visit) => Promise<string | undefined>;

interface Visit {
  readonly parts: AccountParts;
  readonly form: URLSearchParams;
  readonly here: string;
  run<Input extends object, Output extends object>(operation: Operation<Input, Output>, input: Input): Promise<Output>;
}

const act =
  (parts: AccountParts, action: Action): Handler =>
  async (request, response, next) => {
    const here = hereIn(request);
    if (!(await isSignedIn(parts, request, response))) return void toAccount(request, response, next);
    const run: Visit["run"] = (operation, input) => runOnPage(parts.services, response, operation, input);
    const page = await action({ parts, form: formIn(request), here, run }).catch(
      explained(response, async (problem) => accountPage(await readAccount(parts, response), { here, problem })),
    );
    if (page === undefined) toAccount(request, response, next);
    else response.send(page);
  };

/** @throws InvalidInput if the form has no whole number of seats. */
function seatsIn(form: URLSearchParams): number {
  const seats = Number(form.get("seats") || Number.NaN);
  if (!Number.isSafeInteger(seats)) throw InvalidInput.at("maxMembers", "must be a whole number");
  return seats;
}

/** Else the same number could be charged at once instead of later, or for another period. */
export class PriceOutdated extends Failure {
  readonly kind = "conflict";
  override readonly reason = "price_outdated";

  constructor() {
    super("The subscription has changed since the price was shown, so nothing was done. Look at the price again.");
  }
}

const ACTIONS: Readonly<Record<string, Action>> = {
  async "/team"({ parts, form, run }) {
    await run(parts.createTeam, { name: form.get("name") ?? "", maxMembers: seatsIn(form) });
    return undefined;
  },
  async "/preview"({ parts, form, here, run }) {
    const maxMembers = seatsIn(form);
    const subscription = await run(parts.teamSubscription, {});
    return previewPage(await run(parts.teamUpgradePreview, { maxMembers }), subscription, here);
  },
  async "/seats"({ parts, form, run }) {
    const maxMembers = seatsIn(form);
    const subscription = await run(parts.teamSubscription, {});
    if (form.get("priced-for") !== pricedFor(subscription)) throw new PriceOutdated();
    const change = maxMembers > (subscription.seats ?? 0) ? parts.upgradeTeam : parts.downgradeTeam;
    await run(change, { maxMembers });
    return undefined;
  },
  async "/buy"({ parts, form, here, run }) {
    const maxMembers = seatsIn(form);
    const team = await run(parts.myTeam, {});
    // A checkout sells as many seats as the team's size.
    if (maxMembers !== team.maxMembers) await run(parts.updateTeam, { teamId: team.id, maxMembers });
    const interval = form.get("interval") === "year" ? "year" : "month";
    const { url } = await run(parts.createTeamCheckout, { interval });
    return leadPage("Pay", url, here);
  },
  async "/cancel"({ parts, run }) {
    await run(parts.cancelTeamSubscription, {});
    return undefined;
  },
  async "/resume"({ parts, run }) {
    await run(parts.resumeTeamSubscription, {});
    return undefined;
  },
  async "/portal"({ parts, here, run }) {
    const { url } = await run(parts.openBillingPortal, {});
    return leadPage("Customer portal", url, here);
  },
};

const showFailure: ErrorRequestHandler = (error: unknown, request, response, next) => {
  const failure = noteFailure(error, response);
  if (response.headersSent) return next(error);
  response.send(accountProblemPage(failure, BUG_NOTE, hereIn(request)));
};
