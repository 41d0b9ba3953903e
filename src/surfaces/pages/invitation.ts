import type { Failure } from "../../operation/failure.js";
import { type Html, html } from "../../platform/html.js";
import { BUG_MESSAGE } from "../http.js";
import { page } from "./layout.js";

/** What the operation `invitation` tells a door. */
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
  revoked: "This invitation was taken back.",
  expired: "This invitation has ended. Ask for another one.",
} as const;

/** Where the page's forms go: below its own address, which browsers resolve without knowing the service's. */
export const pathOf = (token: string): string => `/invitations/${encodeURIComponent(token)}`;

export const isPending = ({ status }: ShownInvitation): boolean => status === "pending";

interface Situation {
  readonly token: string;
  /** Whether a code is on its way, so that it can be asked for. */
  readonly codeSent: boolean;
  /** What was wrong with the last attempt. */
  readonly problem?: Failure;
}

/** The invitation, and what can be done about it. */
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
  const step = codeSent ? answerForm(invitation, token) : html`<p>To answer it, show that the address is yours.</p>`;
  return page(
    `Join ${teamName}`,
    html`${offer}${until}${problemNote(problem)}${step}${codeForm(invitation, token, codeSent)}`,
  );
}

const problemNote = (problem: Failure | undefined): Html | undefined =>
  problem && html`<p class="problem" role="alert">${explain(problem)}</p>`;

/** What to say to a person at a page, where the message is for whoever writes a program. */
const FOR_PEOPLE: Readonly<Record<string, string>> = {
  code_invalid: "This code is wrong or has expired. Try again, or have another code sent.",
  already_in_team: "You are in another team already, and can be in one at a time. Leave it, then answer again.",
  team_full: "The team has no seat left. Ask who invited you to make room, then answer again.",
  subscription_required: "The team has no seat left that is paid for. Tell who invited you, then answer again.",
};

const explain = ({ reason = "", message }: Failure): string => FOR_PEOPLE[reason] ?? message.replaceAll("`", "");

const codeForm = ({ maskedEmail }: ShownInvitation, token: string, again: boolean): Html =>
  html`
<form method="post" action="${pathOf(token)}/code">
<button${again ? "" : html` class="main"`}>${again ? "Send another code" : `Send a code to ${maskedEmail}`}</button>
</form>`;

const answerForm = ({ maskedEmail }: ShownInvitation, token: string): Html =>
  html` <form method="post" action="${pathOf(token)}/answer">
    <p>A code of eight digits is on its way to ${maskedEmail}. It can be used within 15 minutes.</p>
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

/** The address is proven and the key is made, but the answer was refused: the key serves to put that right. */
export function refusedPage(failure: Failure, token: string, key: string): string {
  const back = html`<p><a href="${pathOf(token)}">Back to the invitation</a></p>`;
  return page("That did not work", html`${problemNote(failure)}${keyNote(key)}${back}`);
}

const keyNote = (key: string): Html =>
  html` <p>This is your API key. It is shown only now, so keep it in a safe place:</p>
    <p><code>${key}</code></p>
    <p>Programs send it with every request: <code>Authorization: Bearer ${key}</code></p>`;

/** Undefined stands for a bug, of which nothing is told. */
export function failurePage(failure: Failure | undefined): string {
  const title = failure?.kind === "not_found" ? "Not found" : "That did not work";
  return page(title, html`<p class="problem" role="alert">${failure ? explain(failure) : BUG_MESSAGE}</p>`);
}
