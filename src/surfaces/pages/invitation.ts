import { LIMITS } from "../../limits.js";
import type { Failure } from "../../operation/failure.js";
import { type Html, html } from "../../platform/html.js";
import { BUG_MESSAGE } from "../http.js";
import { page } from "./layout.js";

/** The output of the operation `invitation`. */
export interface ShownInvitation {
  readonly teamName: string;
  readonly invitedBy: string;
  readonly role: "admin" | "member";
  readonly status: "pending" | "accepted" | "declined" | "revoked" | "expired";
  readonly expiresAt: Date;
  readonly maskedEmail: string;
  readonly email: string;
}

const ROLES = { admin: "an admin", member: "a member" } as const;

const ENDED = {
  accepted: "This invitation was accepted.",
  declined: "This invitation was declined.",
  revoked: "This invitation was revoked.",
  expired: "This invitation has expired. Ask for another one.",
} as const;

/** The path of the page, and of its forms below it. */
export const pathOf = (token: string): string => `/invitations/${encodeURIComponent(token)}`;

export const isPending = ({ status }: ShownInvitation): boolean => status === "pending";

interface Situation {
  readonly token: string;
  /** Whether a code was sent, so that the page asks for it. */
  readonly codeSent: boolean;
  /** What was wrong with the last attempt. */
  readonly problem?: Failure;
}

export function invitationPage(invitation: ShownInvitation, { token, codeSent, problem }: Situation): string {
  const { teamName, invitedBy, role, status, expiresAt } = invitation;
  const offer = html`<p>
    <strong>${invitedBy}</strong> invites you to the team <strong>${teamName}</strong>, as ${ROLES[role]}.
  </p>`;
  if (status !== "pending")
    return page(
      "Invitation",
      html`${offer}
        <p>${ENDED[status]}</p>`,
    );
  const until = html`<p>
    The invitation can be answered until ${expiresAt.toISOString().slice(0, 16).replace("T", " ")} UTC.
  </p>`;
  const step = codeSent ? answerForm(invitation, token) : html`<p>To answer it, first confirm your address.</p>`;
  return page(
    `Join ${teamName}`,
    html`${offer}${until}${problemNote(problem)}${step}${codeForm(invitation, token, codeSent)}`,
  );
}

export const problemNote = (problem: Failure | undefined): Html | undefined =>
  problem && html`<p class="problem" role="alert">${explain(problem)}</p>`;

/** Messages for people, by reason; the failures' own messages are for developers of clients. */
const FOR_PEOPLE: Readonly<Record<string, string>> = {
  code_invalid: "This code is wrong or has expired. Try again, or send another code.",
  already_in_team: "You are already in another team, and can be in only one. Leave it, then answer again.",
  team_full: "The team has no free seat. Ask the person who invited you to make room, then answer again.",
  subscription_required:
    "The team has no paid seat left. Ask the person who invited you to buy more seats, then answer again.",
};

const explain = ({ reason = "", message }: Failure): string => FOR_PEOPLE[reason] ?? message.replaceAll("`", "");

const codeForm = ({ maskedEmail }: ShownInvitation, token: string, again: boolean): Html =>
  html`
<form method="post" action="${pathOf(token)}/code">
<button${again ? "" : html` class="main"`}>${again ? "Send another code" : `Send a code to ${maskedEmail}`}</button>
</form>`;

const answerForm = ({ maskedEmail }: ShownInvitation, token: string): Html =>
  html` <form method="post" action="${pathOf(token)}/answer">
    <p>A code of eight digits is on its way to ${maskedEmail}. It is valid for ${LIMITS.signUp.codeMinutes} minutes.</p>
    <label for="code">Code</label>
    <input id="code" name="code" required maxlength="100" inputmode="numeric" autocomplete="one-time-code" autofocus />
    <div>
      <button class="main" name="answer" value="accept">Accept</button>
      <button name="answer" value="decline">Decline</button>
    </div>
  </form>`;

export function acceptedPage({ teamName }: ShownInvitation, key: string): string {
  return page(
    `Welcome to ${teamName}`,
    html`<p>You are in the team <strong>${teamName}</strong>.</p>
      ${keyNote(key)}`,
  );
}

export function declinedPage({ teamName, invitedBy }: ShownInvitation): string {
  return page("Declined", html`<p>You declined the invitation of ${invitedBy} to the team ${teamName}.</p>`);
}

/** The address was confirmed, but the answer was refused. */
export function refusedPage(failure: Failure, token: string): string {
  const back = html`<p><a href="${pathOf(token)}">Back to the invitation</a></p>`;
  return page("That did not work", html`${problemNote(failure)}${back}`);
}

const keyNote = (key: string): Html =>
  html` <p>This is your API key. It is shown only now, so keep it in a safe place:</p>
    <p><code>${key}</code></p>
    <p>Programs send it with every request: <code>Authorization: Bearer ${key}</code></p>`;

/** Undefined means a bug, whose details are not shown. */
export function failurePage(failure: Failure | undefined): string {
  const title = failure?.kind === "not_found" ? "Not found" : "That did not work";
  return page(title, html`<p class="problem" role="alert">${failure ? explain(failure) : BUG_MESSAGE}</p>`);
}
