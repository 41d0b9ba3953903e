import { LIMITS } from "../../limits.js";
import { html } from "../../platform/html.js";
import type { SignUpCode } from "../access/index.js";
import { type Letter, composeLetter } from "./letter.js";

const ENDS = `Enter it where you requested it, within ${LIMITS.signUp.codeMinutes} minutes. It works once. Do not tell it to anybody.`;
const LONG = "If it is refused although it is correct, somebody else is guessing. Then use this longer code instead:";
const IGNORE = "If you did not request it, ignore this mail: nothing happens without the code.";

/** The mail that verifies an address: only a person who reads its mail knows the code. */
export const signUpMail = ({ short, long }: SignUpCode): Letter =>
  composeLetter({
    subject: "Your code for Memory Graph",
    text: `
Your code for Memory Graph:

    ${short}

${ENDS}

${LONG}

    ${long}

${IGNORE}`,
    body: html`<p>Your code for Memory Graph:</p>
      <p style="font-size: 2em; letter-spacing: 0.1em"><strong>${short}</strong></p>
      <p>${ENDS}</p>
      <p>${LONG}<br /><code>${long}</code></p>
      <p>${IGNORE}</p>`,
  });
