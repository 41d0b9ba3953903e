import type { Context, Services, TeamRole } from "../../operation/context.js";
import { Failure, InvalidInput } from "../../operation/failure.js";
import type { Operation } from "../../operation/operation.js";
import type { Identify } from "../authentication.js";
import {
  type ShownInvoice,
  type ShownPreview,
  type ShownSubscription,
  type ShownTeam,
  leadPage,
  previewPage,
  pricedFor,
} from "./account-billing.js";
import type { PendingInvitation, ShownMember } from "./account-people.js";

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
  readonly teamMembers: Operation<TeamsPage, { members: readonly ShownMember[]; nextCursor: string | null }>;
  readonly teamInvitations: Operation<
    TeamsPage & { status?: string | null },
    { invitations: readonly PendingInvitation[]; nextCursor: string | null }
  >;
  readonly inviteMember: Operation<{ teamId: string; email: string; role: string }>;
  readonly resendInvitation: Operation<{ teamId: string; invitationId: string }>;
  readonly revokeInvitation: Operation<{ teamId: string; invitationId: string }>;
  readonly updateMemberRole: Operation<{ teamId: string; userId: string; role: string }>;
  readonly removeMember: Operation<{ teamId: string; userId: string }>;
  readonly leaveTeam: Operation<{ teamId: string }>;
  readonly mayManage: (actor: TeamRole, target: TeamRole) => boolean;
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

/** Which part of a team's list to read. */
interface TeamsPage {
  readonly teamId: string;
  readonly limit: number;
  readonly cursor?: string | null;
}

/** Changes something, and returns a page to show instead of the account, if any. */
export type Action = (visit: Visit) => Promise<string | void>;

export interface Visit {
  readonly parts: AccountParts;
  readonly form: URLSearchParams;
  readonly here: string;
  run<Input extends object, Output extends object>(operation: Operation<Input, Output>, input: Input): Promise<Output>;
}

/** @throws InvalidInput if the form has no whole number of seats. */
function seatsIn(form: URLSearchParams): number {
  const seats = Number(form.get("seats") || Number.NaN);
  if (!Number.isSafeInteger(seats)) throw InvalidInput.at("maxMembers", "must be a whole number");
  return seats;
}

/** The team that a form names. */
const teamIn = (form: URLSearchParams) => ({ teamId: form.get("team") ?? "" });

/** Else the same number could be charged at once instead of later, or for another period. */
export class PriceOutdated extends Failure {
  readonly kind = "conflict";
  override readonly reason = "price_outdated";

  constructor() {
    super("The subscription has changed since the price was shown, so nothing was done. Look at the price again.");
  }
}

/** What the forms of billing do, by the paths below the page. */
export const BILLING_ACTIONS: Readonly<Record<string, Action>> = {
  async "/team"({ parts, form, run }) {
    await run(parts.createTeam, { name: form.get("name") ?? "", maxMembers: seatsIn(form) });
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
  },
  async "/buy"({ parts, form, here, run }) {
    const maxMembers = seatsIn(form);
    const team = await run(parts.myTeam, {});
    // A checkout sells as many seats as the team's size.
    if (maxMembers !== team.maxMembers) await run(parts.updateTeam, { ...teamIn(form), maxMembers });
    const interval = form.get("interval") === "year" ? "year" : "month";
    const { url } = await run(parts.createTeamCheckout, { interval });
    return leadPage("Pay", url, here);
  },
  async "/size"({ parts, form, run }) {
    await run(parts.updateTeam, { ...teamIn(form), maxMembers: seatsIn(form) });
  },
  async "/cancel"({ parts, run }) {
    await run(parts.cancelTeamSubscription, {});
  },
  async "/resume"({ parts, run }) {
    await run(parts.resumeTeamSubscription, {});
  },
  async "/portal"({ parts, here, run }) {
    const { url } = await run(parts.openBillingPortal, {});
    return leadPage("Customer portal", url, here);
  },
};

/** @throws InvalidInput if the form has no role that can be given. */
function roleIn(form: URLSearchParams): string {
  const role = form.get("role") ?? "";
  if (role !== "admin" && role !== "member") throw InvalidInput.at("role", "must be admin or member");
  return role;
}

/** @throws InvalidInput if the box of a form for what cannot be taken back was not ticked. */
function assertSure(form: URLSearchParams): void {
  if (!form.has("sure")) throw InvalidInput.at("", "Tick the box to confirm this. Nothing was done.");
}

const invitationIn = (form: URLSearchParams) => ({ ...teamIn(form), invitationId: form.get("invitation") ?? "" });

const memberIn = (form: URLSearchParams) => ({ ...teamIn(form), userId: form.get("member") ?? "" });

/** What the forms about people do. */
export const PEOPLE_ACTIONS: Readonly<Record<string, Action>> = {
  async "/invite"({ parts, form, run }) {
    await run(parts.inviteMember, { ...teamIn(form), email: form.get("email") ?? "", role: roleIn(form) });
  },
  async "/resend"({ parts, form, run }) {
    await run(parts.resendInvitation, invitationIn(form));
  },
  async "/revoke"({ parts, form, run }) {
    assertSure(form);
    await run(parts.revokeInvitation, invitationIn(form));
  },
  async "/role"({ parts, form, run }) {
    await run(parts.updateMemberRole, { ...memberIn(form), role: roleIn(form) });
  },
  async "/remove"({ parts, form, run }) {
    assertSure(form);
    await run(parts.removeMember, memberIn(form));
  },
  async "/leave"({ parts, form, run }) {
    assertSure(form);
    await run(parts.leaveTeam, teamIn(form));
  },
};
