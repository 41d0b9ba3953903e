import { createHash } from "node:crypto";
import { Html, html } from "../../platform/html.js";

const STYLE = `
  body { font: 1.05rem/1.6 system-ui, sans-serif; max-width: 36rem; margin: 3rem auto; padding: 0 1rem }
  body { color: #1b1f24; background: #fff }
  input, button { font: inherit; padding: .5rem .9rem; border-radius: .4rem; border: 1px solid #57606a }
  button { cursor: pointer; background: #f6f8fa; color: inherit; margin: .8rem .4rem 0 0 }
  button.main { background: #0b57d0; border-color: #0b57d0; color: #fff }
  label { display: block; font-weight: 600 }
  code { font-size: .95em; overflow-wrap: anywhere; user-select: all }
  table { border-collapse: collapse; font-size: .9em }
  th, td { text-align: left; vertical-align: top; padding: .35rem .6rem; border-bottom: 1px solid #8c959f }
  .problem { border-left: .3rem solid #b3261e; padding-left: .8rem }
  @media (min-width: 64rem) { table { width: 62rem; margin-left: -13rem } }
  @media (max-width: 63.9rem) {
    thead { display: none }
    th, td { display: block; border: 0; padding: 0 }
    td::before { content: attr(data-label) ": "; color: #57606a }
    tr { display: block; padding: .6rem 0; border-bottom: 1px solid #8c959f }
  }
  @media (prefers-color-scheme: dark) {
    body { color: #e6edf3; background: #0d1117 }
    button { background: #21262d }
    td::before { color: #9198a1 }
  }
`;

/** Whole, so that nothing is put between the tags: a space more, and its hash is another one. */
const STYLE_ELEMENT = new Html(`<style>${STYLE}</style>`);

/** The style is let in by its hash, so nothing that anybody wrote into a page can bring another one, or a script. */
const STYLE_HASH = createHash("sha256").update(STYLE).digest("base64");

/** The address of a page holds a token: it must not be told to other sites, kept by caches or found by searches. */
export const PAGE_HEADERS = {
  "Content-Security-Policy": [
    "default-src 'none'",
    `style-src 'sha256-${STYLE_HASH}'`,
    "form-action 'self'",
    "base-uri 'none'",
    "frame-ancestors 'none'",
  ].join("; "),
  "Referrer-Policy": "no-referrer",
  "Cache-Control": "no-store",
  "X-Robots-Tag": "noindex, nofollow",
};

/** A whole page. It has no script, so it works everywhere. */
export function page(title: string, body: Html): string {
  return html`<!doctype html>
    <html lang="en">
      <head>
        <meta charset="utf-8" />
        <meta name="viewport" content="width=device-width, initial-scale=1" />
        <meta name="robots" content="noindex, nofollow" />
        <title>${title} – Memory Graph</title>
        ${STYLE_ELEMENT}
      </head>
      <body>
        <main>
          <h1>${title}</h1>
          ${body}
        </main>
      </body>
    </html> `.text;
}
