import { PRODUCT } from "../../operation/product.js";
import { type Html, html, isolate } from "../../platform/html.js";
import { ACCOUNT } from "../navigation.js";
import {
  type JoinedAccount,
  type OwnedAccount,
  type Sold,
  freeNote,
  invoicesPart,
  ownersPart,
  seatsField,
  statusOf,
} from "./account-billing.js";
import { type Place, linkTo, show } from "./account-frame.js";
import { type People, doneNote, peoplePart } from "./account-people.js";
import { ENTER_CODE, PROBLEM, codeField, describeField, emailField, problemNote } from "./forms.js";

/** What a signed-in person sees. */
export interface Account {
  readonly email: string;
  /** Null for somebody without a team. */
  readonly owned: OwnedAccount | JoinedAccount | null;
  /** Undefined for somebody without a team, too. */
  readonly people?: People | undefined;
  /** Undefined if this service sells nothing. */
  readonly sold: Sold | undefined;
}

const SIGN_IN = "Sign in";

/** Where somebody who is not signed in requests a code. */
export function signInPage({ here, problem }: Place, email?: string): string {
  return show(
    here,
    SIGN_IN,
    html`<p>${PRODUCT}</p>
      <p>
        See here who is in your team and what it has bought, or create a team. Its owner and admins invite people and
        manage them. Its owner buys seats, changes them, and finds the invoices.
      </p>
      ${problemNote(problem)}
      <form method="post" action="${linkTo(here, "/code")}">
        ${emailField(email, describeField("about-email", problem))}
        <p class="aside" id="about-email">
          A code is sent there, also if you are new. With it you are signed in for an hour.
        </p>
        <button class="main">Send a code</button>
      </form>
      <p class="aside"><a href="${linkTo(here)}?code">I have a code</a></p>`,
    problem && PROBLEM,
  );
}

/** Where they enter it; without an address if the browser has forgotten which one it was sent to. */
export function codePage({ here, problem }: Place, email?: string): string {
  const known = email && html`<input type="hidden" name="email" value="${email}" />`;
  const again =
    known &&
    html`<form method="post" action="${linkTo(here, "/code")}">${known}<button>Send another code</button></form>`;
  return show(
    here,
    SIGN_IN,
    html`${problemNote(problem)}
      <form method="post" action="${linkTo(here, "/sign-in")}">
        ${codeField(email || "you", problem)}${known || emailField()}
        <div><button class="main">Sign in</button></div>
      </form>
      ${again}
      <p class="aside"><a href="${linkTo(here)}">${known ? "Use another address" : "Request a code"}</a></p>`,
    problem ? PROBLEM : ENTER_CODE,
  );
}

/** The team's subscription and people, with the forms that the caller may use. */
export function accountPage({ owned, ...account }: Account, place: Place): string {
  const { here, problem, isDone } = place;
  const { email, sold } = account;
  const done = isDone ? "Done" : undefined;
  const team = owned ? teamPart({ owned, ...account }, place) : [doneNote(place), teamForm(sold, here)];
  return show(
    here,
    ACCOUNT.name,
    html`${problemNote(problem)}${team}
      <form method="post" action="${linkTo(here, "/sign-out")}">
        <p class="aside">Signed in as ${email}.</p>
        <button>Sign out</button>
      </form>`,
    problem ? PROBLEM : done,
  );
}

const teamForm = (sold: Sold | undefined, here: string): Html =>
  html`<p>You are in no team. You join one by the link in an invitation's mail, or create your own:</p>
    <form method="post" action="${linkTo(here, "/team")}">
      <label for="name">Name of the team</label>
      <input id="name" name="name" required autocomplete="off" />
      ${seatsField(sold?.freeSeats ?? 1)}
      <p class="aside">As many people can be in it, you included. ${sold && freeNote(sold)}</p>
      <button class="main">Create the team</button>
    </form>`;

function teamPart({ owned, people, sold }: Account & { owned: OwnedAccount | JoinedAccount }, place: Place): Html {
  const { here } = place;
  return html`<h2>${isolate(owned.team.name)}</h2>
    ${statusOf(owned)}
    ${owned.isOwner ? ownersPart(owned, sold, here) : html`<p>Only the team's owner can change this.</p>`}
    ${people && peoplePart(people, place)}${owned.isOwner && sold && invoicesPart(owned, sold, here)}`;
}
