import type { Notice } from "../../operation/notice.js";
import { html } from "../../platform/html.js";
import { type Letter, composeLetter } from "./letter.js";

const URL_ALONE = /^https?:\/\/\S+$/;

/** A notice as text and as HTML. It says from where it comes: people may use several services. */
export function noticeMail({ subject, body }: Pick<Notice, "subject" | "body">, publicUrl: string): Letter {
  const text = `${body.trim()}\n\nThis mail comes from Memory Graph at ${publicUrl}.`;
  return composeLetter({
    subject,
    text,
    body: html`${text
      .split(/\n{2,}/)
      .map((paragraph) =>
        URL_ALONE.test(paragraph) ? html`<p><a href="${paragraph}">${paragraph}</a></p>` : html`<p>${paragraph}</p>`,
      )}`,
  });
}
