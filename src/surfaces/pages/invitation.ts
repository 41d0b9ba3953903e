import { LIMITS } from "../../limits.js";
import { type Failure, InvalidInput } from "../../operation/failure.js";
import { PRODUCT } from "../../operation/product.js";
import { type Html, html, isolate } from "../../platform/html.js";
import { BUG_MESSAGE } from "../http.js";
import { HOME, linkFrom } from "../navigation.js";
import { page } from "./layout.js";
import { countInWords, minuteOf } from "../../wording.js";

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

/** Pages do not say that a mail was sent: another process sends it later, or none does if mail is not set up. */
const IF_NOT_THERE = "If it is not there either, ask whoever runs this service.";

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

/** For the titles of pages with a form. */
export const PROBLEM = "Problem";
export const ENTER_CODE = "Enter the code";

export const problemNote = (problem: Failure | undefined): Html | undefined =>
  problem && html`<p class="problem" role="alert" id="problem">${explain(problem)}</p>`;

export const BUG_NOTE: Html = html`<p class="problem" role="alert">${BUG_MESSAGE}</p>`;

/** The attributes of a field that the note with this id explains: it is read with the field, after what was wrong. */
export const describeField = (noteId: string, problem: Failure | undefined): Html => {
  const isWrong = problem?.kind === "bad_request";
  return html`aria-describedby="${problem ? "problem " : ""}${noteId}" ${isWrong ? html`aria-invalid="true"` : ""}`;
};

/** Messages for people, by reason or by a field's name; the failures' own messages are for developers of clients. */
const FOR_PEOPLE: Readonly<Record<string, string>> = {
  code_invalid:
    "This code is wrong or has expired. Try again, or send another code. After " +
    `${LIMITS.signUp.triesPerNetwork} attempts only the longer code from the same mail works.`,
  email: "Check the address: it must be complete, such as ann@example.com, and its letters must be from a to z.",
  already_subscribed: "The team has a subscription already: it is shown here.",
  subscription_unpaid: "The subscription is not paid, or paused. Pay its invoice, or cancel it and buy seats again.",
  upgrade_pending: "More seats wait for their payment. Pay their invoice first, or wait until that expires.",
  decrease_pending:
    "Fewer seats were chosen for the next period, so more cannot be bought now. Take that back first: choose as many " +
    "seats as now.",
  maxMembers: `The number of seats is a whole number from 1 to ${LIMITS.teams.members}.`,
  already_in_team:
    "You are already in another team, and can be in only one. Leave it; if you own it, transfer it before that, or " +
    "delete it. Then answer again.",
  too_many_api_keys:
    "You have as many API keys as a user may have. Revoke one by another of them, then try again. If you have none of " +
    "them any more, ask the operator of this service for one.",
  too_many_at_once: "Too many requests are answered at the same time. Try again in a moment.",
  too_many_mails: "Enough mails were sent for now. Look for the newest one, also among spam, or try again later.",
};

/** The failure's own message without the sentences that name an operation, which no person on a page can call. */
const explain = (failure: Failure): string => {
  const field = failure instanceof InvalidInput ? failure.details[0]?.path : undefined;
  const sentences = failure.message.split(/(?<=\.) /).filter((sentence) => !/`[a-z]+[A-Z]/.test(sentence));
  return FOR_PEOPLE[failure.reason ?? field ?? ""] ?? inMinutes(sentences.join(" ").replaceAll("`", ""));
};

/** People do not count in seconds. */
export const inMinutes = (message: string): string =>
  message.replace(
    /(?<= in )(\d+) s\.$/,
    (_wait, seconds) => `${countInWords(Math.ceil(seconds / 60), "minute", "minutes")}.`,
  );

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

/** Where a person enters the code that was sent to an address. */
export const codeField = (address: string | Html, problem: Failure | undefined): Html =>
  html`<p id="about-code">
      Enter the code of eight digits from the mail to ${address}. It is valid for ${LIMITS.signUp.codeMinutes} minutes.
      If you asked more than once, use the newest code that arrived. If none arrives in a few minutes, look among spam.
      ${IF_NOT_THERE}
    </p>
    <label for="code">Code</label>
    <input
      id="code"
      name="code"
      required
      maxlength="100"
      inputmode="numeric"
      autocomplete="one-time-code"
      autofocus
      ${describeField("about-code", problem)}
    />`;

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
