import { type Html, html } from "../../platform/html.js";

/** What a mail says, whoever it goes to. */
export interface Letter {
  readonly subject: string;
  readonly text: string;
  readonly html: string;
}

/** A letter in two forms that say the same. Nothing is fetched when it is read: no pictures, no styles, no scripts. */
export function letter({ subject, text, body }: { subject: string; text: string; body: Html }): Letter {
  const page = html`<!doctype html>
    <html lang="en">
      <head>
        <meta charset="utf-8" />
        <title>${subject}</title>
      </head>
      <body style="font-family: sans-serif; line-height: 1.5; max-width: 36em">
        ${body}
      </body>
    </html> `;
  return { subject: oneLine(subject), text: `${text.trim()}\n`, html: page.text };
}

/** What people call things may hold line breaks, which would start another header, or another paragraph of ours. */
export const oneLine = (text: string): string => text.replaceAll(/[\s\p{C}]+/gu, " ").trim();
