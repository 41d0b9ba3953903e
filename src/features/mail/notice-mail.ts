import type { Notice } from "../../operation/notice.js";
import { html, prose } from "../../platform/html.js";
import { type Letter, composeLetter } from "./letter.js";

const URL_ALONE = /^https?:\/\/\S+$/;

/** A notice as text and as HTML. */
export const noticeMail = ({ subject, body }: Pick<Notice, "subject" | "body">): Letter =>
  composeLetter({
    subject,
    text: body,
    body: html`${body
      .trim()
      .split(/\n{2,}/)
      .map((paragraph) =>
        URL_ALONE.test(paragraph)
          ? html`<p><a href="${paragraph}">${paragraph}</a></p>`
          : html`<p>${prose(paragraph)}</p>`,
      )}`,
  });
