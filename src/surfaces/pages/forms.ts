import { LIMITS } from "../../limits.js";
import { type Failure, InvalidInput } from "../../operation/failure.js";
import { type Html, html } from "../../platform/html.js";
import { countInWords } from "../../wording.js";
import { BUG_MESSAGE } from "../http.js";

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
  no_such_member: "This person is not in the team any more.",
  already_in_team:
    "You are already in a team, and can be in only one. Leave it; if you own it, transfer it before that, or delete " +
    "it. Then try again.",
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

/** Where a person enters their address. */
export const emailField = (address = "", attributes: Html | string = ""): Html =>
  html`<label for="email">Your e-mail address</label>
    <input
      id="email"
      name="email"
      type="email"
      value="${address}"
      required
      maxlength="254"
      autocomplete="email"
      ${attributes}
    />`;

/** Pages do not say that a mail was sent: another process sends it later, or none does if mail is not set up. */
export const IF_NOT_THERE = "If it is not there either, ask whoever runs this service.";

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
