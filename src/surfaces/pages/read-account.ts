import type { Request, Response } from "express";
import type { CallersTeam } from "../../operation/context.js";
import { Failure } from "../../operation/failure.js";
import { rightOf } from "../../operation/rights.js";
import { scopeOf } from "../request-scope.js";
import { runOnPage } from "../run-on-page.js";
import type { Account } from "./account.js";
import type { AccountParts } from "./account-actions.js";
import type { ShownInvoice, ShownTeam } from "./account-billing.js";
import type { People, PeopleForm } from "./account-people.js";

const INVOICES = 12;
/** How many members, and how many invitations, are on a page. */
const PEOPLE = 25;

/** Reads what a signed-in person sees; `query` says which pages of the lists. */
export async function readAccount(
  parts: AccountParts,
  response: Response,
  query: Request["query"] = {},
): Promise<Account> {
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
  const people = await readPeople(parts, response, { team, caller: { ...caller, team: caller.team }, query });
  const shown = { team, subscription, isLive: parts.isLive(subscription), isPaid: parts.isPaid(subscription) };
  if (caller.team.role !== "owner") return { ...known, people, owned: { ...shown, isOwner: false } };
  return { ...known, people, owned: { ...shown, isOwner: true, invoices: await readInvoices(parts, response) } };
}

interface Viewer {
  readonly team: ShownTeam;
  readonly caller: { readonly userId: string; readonly team: CallersTeam };
  /** Which pages of the lists are asked for. */
  readonly query: Request["query"];
}

async function readPeople(parts: AccountParts, response: Response, { team, caller, query }: Viewer): Promise<People> {
  const { role } = caller.team;
  const mayUse = (name: PeopleForm | "teamInvitations") => rightOf(parts[name], role) === "yes";
  const pageOf = (list: string) => ({
    teamId: team.id,
    limit: PEOPLE,
    cursor: query[list] ? String(query[list]) : null,
  });
  const [{ members, nextCursor: moreMembers }, invited] = await Promise.all([
    runOnPage(parts.services, response, parts.teamMembers, pageOf("members")),
    mayUse("teamInvitations")
      ? runOnPage(parts.services, response, parts.teamInvitations, { ...pageOf("invitations"), status: "pending" })
      : undefined,
  ]);
  return {
    team,
    members,
    moreMembers,
    invitations: invited?.invitations,
    moreInvitations: invited?.nextCursor ?? null,
    // The owner must stay.
    may: (form) => mayUse(form) && !(form === "leaveTeam" && role === "owner"),
    manages: (member) => member.userId !== caller.userId && parts.mayManage(role, member.role),
    callerId: caller.userId,
  };
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
