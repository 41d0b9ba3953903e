import { AccountSuspended, type Failure } from "../../operation/failure.js";
import { type Html, html } from "../../platform/html.js";
import { ACCOUNT, linkFrom, navigation } from "../navigation.js";
import { problemNote } from "./forms.js";
import { page } from "./layout.js";

export interface Place {
  /** The path of the request that the page answers: links are relative to it. */
  readonly here: string;
  /** What was wrong with the last attempt. */
  readonly problem?: Failure | undefined;
  /** The address that could not be invited. */
  readonly invited?: string | undefined;
  /** Whether something was changed just now. */
  readonly isDone?: boolean;
}

/** A page of the account, with the navigation. */
export const show = (here: string, title: string, body: Html, event?: string): string =>
  page(title, body, { around: navigation(ACCOUNT.path, here), event });

/** A link to the account's page, or to a form below it. */
export const linkTo = (here: string, below = ""): string => linkFrom(here, { path: ACCOUNT.path + below });

/** A form that needs no more than a click. */
export const button = (here: string, [below, text]: readonly [string, string]): Html =>
  html`<form method="post" action="${linkTo(here, below)}"><button>${text}</button></form>`;

/**
 * For a failure without a form to show it at. A suspended user sees no other page: who signs out there lets another sign
 * in.
 */
export const accountProblemPage = (failure: Failure | undefined, note: Html, here: string): string =>
  show(
    here,
    "That did not work",
    html`${problemNote(failure) ?? note}
      <p><a href="${linkTo(here)}">Back</a></p>
      ${failure instanceof AccountSuspended && button(here, ["/sign-out", "Sign out"])}`,
  );
