import { html } from "../../platform/html.js";
import { CODE_MINUTES, type SignUpCode } from "../access/index.js";
import { type Letter, letter } from "./letter.js";

const ENDS = `It can be used once, within ${CODE_MINUTES} minutes. Tell it to nobody.`;
const LONG = "If it is refused although it is right, somebody else is guessing. This longer one works in its place:";
const IGNORE = "If it was not you who asked for it, ignore this mail: nothing happens without the code.";

/** The mail that proves an address: whoever knows its code reads what is sent there. */
export const signUpMail = ({ short, long }: SignUpCode): Letter =>
  letter({
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
