import { type Html, html } from "../../platform/html.js";

/** The content of a mail, without its recipient. */
export interface Letter {
  readonly subject: string;
  readonly text: string;
  readonly html: string;
  /** The address for replies, unless that is the sender's. */
  readonly replyTo?: string;
}

/** A mail as text and as HTML. The HTML loads nothing: no pictures, style sheets or scripts. */
export function composeLetter({ subject, text, body }: { subject: string; text: string; body: Html }): Letter {
  const page = html`<!doctype html>
    <html lang="en">
      <head>
        <meta charset="utf-8" />
        <meta name="viewport" content="width=device-width, initial-scale=1" />
        <meta name="color-scheme" content="light dark" />
        <title>${subject}</title>
      </head>
      <body style="font-family: sans-serif; line-height: 1.5; max-width: 36em; overflow-wrap: anywhere">
        ${body}
      </body>
    </html> `;
  return { subject: oneLine(subject), text: `${text.trim()}\n`, html: page.text };
}

/**
 * Removes line breaks: one in a name could start another header, or a paragraph that seems to be ours. Joiners stay, as
 * Persian names and many emoji have them.
 */
export const oneLine = (text: string): string => text.replaceAll(/(?:(?!\p{Join_Control})[\s\p{C}])+/gu, " ").trim();
