import type { Failure } from "../../operation/failure.js";
import { PRODUCT } from "../../operation/product.js";
import { type Html, html, isolate } from "../../platform/html.js";
import { HOME, linkFrom } from "../navigation.js";
import { minuteOf } from "../../wording.js";
import { BUG_NOTE, ENTER_CODE, IF_NOT_THERE, PROBLEM, codeField, problemNote } from "./forms.js";
import { page } from "./layout.js";

/** The output of the operations `invitation` and `invitationById`. */
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

const ANOTHER = "If you want to join, ask for another one.";

const ENDED = {
  accepted: "This invitation was accepted. It cannot be used again.",
  declined: `This invitation was declined. ${ANOTHER}`,
  revoked: `This invitation was revoked. ${ANOTHER}`,
  expired: `This invitation has expired. ${ANOTHER}`,
} as const;

export const isPending = ({ status }: ShownInvitation): boolean => status === "pending";

interface Situation {
  /** The path of the request that the page answers. Links are relative to it, so a proxy may add a prefix. */
  readonly here: string;
  readonly token: string;
  /** Whether a code was requested, so that the page asks for it. */
  readonly codeSent: boolean;
  /** What was wrong with the last attempt. */
  readonly problem?: Failure;
}

export function invitationPage(invitation: ShownInvitation, situation: Situation): string {
  const { here, codeSent, problem } = situation;
  const confirm = html`<p>To answer it, first confirm your address by a code that you get by mail.</p>`;
  const step = codeSent ? answerForm(invitation, situation) : confirm;
  const known = html`<p class="aside"><a href="${linkTo(situation)}?code">I have a code</a></p>`;
  const answer = html`${problemNote(problem)}${step}${codeForm(invitation, situation)}${codeSent ? undefined : known}`;
  const asked = codeSent ? ENTER_CODE : undefined;
  return offerPage(invitation, { here, whom: "you", answer, event: problem ? PROBLEM : asked });
}

interface LinkedSituation {
  /** The path of the request that the page answers. */
  readonly here: string;
  readonly id: string;
  /** Whether the mail was just requested. */
  readonly mailed: boolean;
}

/** The page of an invitation's `link`, for anybody who has it: the mail, which proves who answers, can be sent again. */
export function linkedPage(invitation: ShownInvitation, { mailed, ...place }: LinkedSituation): string {
  const address = inOneLine(invitation);
  const say = mailed
    ? html`<p role="status">
        Look for the mail to ${address}, and open the link in it. If it does not arrive in a few minutes, look among
        spam. ${IF_NOT_THERE}
      </p>`
    : html`<p>
        It is answered by the link in the mail to ${address}. If that is your address and you do not have the mail, let
        it be sent again.
      </p>`;
  const answer = html`${say}
    <form method="post" action="${linkById(place, "/mail")}">
      <button ${mailed ? "" : html`class="main"`}>${mailed ? "Mail it again" : "Mail me the link"}</button>
    </form>`;
  return offerPage(invitation, {
    here: place.here,
    whom: address,
    answer,
    event: mailed ? "Mail requested" : undefined,
  });
}

/** Lines would break after the ellipsis of a shortened address. */
const inOneLine = ({ maskedEmail }: ShownInvitation): Html => html`<span class="whole">${maskedEmail}</span>`;

interface Offer {
  /** The path of the request that the page answers. */
  readonly here: string;
  /** Who is invited. */
  readonly whom: Html | string;
  /** How a pending invitation is answered. */
  readonly answer: Html;
  readonly event: string | undefined;
}

function offerPage(
  { teamName, invitedBy, role, status, expiresAt }: ShownInvitation,
  { here, whom, answer, event }: Offer,
): string {
  const isOpen = status === "pending";
  const team = html`the team <strong>${isolate(teamName)}</strong>, as ${ROLES[role]}`;
  const were = whom === "you" ? "You were" : html`${whom} was`;
  const by = html`<strong>${inviter(invitedBy)}</strong>`;
  const offer = html`<p>
      ${isOpen ? html`${by} invites ${whom} to ${team}` : html`${were} invited by ${by} to ${team}`}.
    </p>
    <p>${PRODUCT}</p>`;
  if (!isOpen)
    return page(
      "Invitation",
      html`${offer}
        <p>${ENDED[status]}</p>
        ${homeNote(here, status === "accepted" ? "How to use it, and how to get another API key" : "More about it")}`,
    );
  const until = html`<p>The invitation can be answered until ${minuteOf(expiresAt)}.</p>`;
  return page(`Join ${teamName}`, html`${offer}${until}${answer}`, { event });
}

/** A name and an address, as `Ann (ann@example.com)`: in one direction, a name would turn the brackets around. */
function inviter(invitedBy: string): Html {
  const [, name, address] = /^(.*) (\(\S+\))$/.exec(invitedBy) ?? [];
  return name === undefined ? isolate(invitedBy) : html`${isolate(name)} ${isolate(address ?? "")}`;
}

/** A link to the invitation's page, or to a form below it. */
export const linkTo = ({ here, token }: Pick<Situation, "here" | "token">, below = ""): string =>
  linkFrom(here, { path: `/invitations/${encodeURIComponent(token)}${below}` });

/** A link to the page of an invitation's `link`, or to the form below it. */
export const linkById = ({ here, id }: Pick<LinkedSituation, "here" | "id">, below = ""): string =>
  linkFrom(here, { path: `/invitations/by-id/${encodeURIComponent(id)}${below}` });

const codeForm = ({ maskedEmail }: ShownInvitation, { codeSent: again, ...place }: Situation): Html =>
  html`
<form method="post" action="${linkTo(place, "/code")}">
<button${again ? "" : html` class="main"`}>${again ? "Send another code" : `Send a code to ${maskedEmail}`}</button>
</form>`;

const answerForm = (invitation: ShownInvitation, place: Situation): Html =>
  html` <form method="post" action="${linkTo(place, "/answer")}">
    ${codeField(inOneLine(invitation), place.problem)}
    <div>
      <button class="main" name="answer" value="accept">Accept</button>
      <button name="answer" value="decline">Decline</button>
    </div>
  </form>`;

export function acceptedPage({ teamName }: ShownInvitation, key: string, here: string): string {
  return page(
    `Welcome to ${teamName}`,
    html`<p>You are in the team <strong>${isolate(teamName)}</strong>.</p>
      ${keyNote(key)}${homeNote(here, "What to do next: connect an agent, or try it in the browser")}`,
  );
}

export function declinedPage({ teamName, invitedBy }: ShownInvitation): string {
  return page(
    "Declined",
    html`<p>
      You declined the invitation of ${inviter(invitedBy)} to the team ${isolate(teamName)}. You can close this page.
    </p>`,
  );
}

const homeNote = (here: string, why: string): Html => html`<p><a href="${linkFrom(here, HOME)}">${why}</a></p>`;

const keyNote = (key: string): Html =>
  html` <p>This is your API key. It is shown only now, so keep it in a safe place:</p>
    <p><code tabindex="0">${key}</code></p>
    <p>Programs send it with every request: <code>Authorization: Bearer ${key}</code></p>`;

/**
 * @param failure undefined means a bug, whose details are not shown
 * @param back a link to the invitation's page
 */
export function failurePage(failure: Failure | undefined, back: string): string {
  const isUnknown = failure?.kind === "not_found";
  return page(
    isUnknown ? "Not found" : "That did not work",
    html`${problemNote(failure) ?? BUG_NOTE}
    ${isUnknown ? undefined : html`<p><a href="${back}">Back to the invitation</a></p>`}`,
  );
}
