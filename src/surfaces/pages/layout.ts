import { hash } from "node:crypto";
import { type Handler, Router } from "express";
import { Html, html } from "../../platform/html.js";
import { NOT_CHANGED } from "../caching.js";
import { HOME, ICON_LINK, NAVIGATION_STYLE, type PagePath, navigation } from "../navigation.js";

const STYLE = `
  body { font: 1.05rem/1.6 system-ui, sans-serif; max-width: 36rem; margin: 3rem auto; padding: 0 1rem }
  html { color-scheme: light dark }
  body { color: #1b1f24; background: #fff; overflow-wrap: break-word }
  body.wide { max-width: 62rem; margin-top: 1.2rem }
  a { color: #0b57d0; padding: .2rem 0 }
  ${NAVIGATION_STYLE}
  nav [aria-current] { color: inherit; font-weight: 600; text-decoration: none }
  h1 { line-height: 1.25 }
  .whole, bdi + bdi { display: inline-block; max-width: 100% }
  h2 { margin-top: 2.2rem; scroll-margin-top: 1rem }
  dt { font-weight: 600; margin-top: .7rem }
  dd { margin: 0 }
  input, button { font: inherit; padding: .5rem .9rem; border-radius: .4rem; border: 1px solid #57606a }
  input, button { box-sizing: border-box; max-width: 100% }
  button { cursor: pointer; background: #f6f8fa; color: inherit; margin: .8rem .4rem 0 0 }
  button.main { background: #0b57d0; border-color: #0b57d0; color: #fff }
  label { display: block; font-weight: 600 }
  bdi { overflow-wrap: anywhere }
  th:has(bdi) { min-width: 14rem }
  summary { cursor: pointer; padding: .2rem 0 }
  details label { margin-top: 1rem; font-weight: 400 }
  [type=checkbox] { width: 1.5rem; height: 1.5rem; vertical-align: middle }
  code { font-size: .95em; overflow-wrap: anywhere; user-select: all }
  .wide code, pre code { user-select: auto }
  pre { overflow-x: auto; background: #f6f8fa; padding: .8rem; border-radius: .4rem }
  pre code { overflow-wrap: normal }
  form + table { margin-top: 1rem }
  table { border-collapse: collapse; font-size: .9em; width: 100% }
  th, td { text-align: left; vertical-align: top; padding: .35rem .6rem; border-bottom: 1px solid #8c959f }
  .aside { margin: .4rem 0 0; color: #57606a; font-weight: 400 }
  th code, td code { overflow-wrap: normal }
  [aria-busy=true] button { opacity: .6; cursor: progress }
  .problem { border-left: .3rem solid #b3261e; padding-left: .8rem }
  @media (max-width: 63.9rem) {
    thead { display: none }
    th code, td code, th, td { overflow-wrap: anywhere }
    td > div { display: inline }
    td:empty { display: none }
    th, td { display: block; border: 0; padding: 0 }
    td::before { content: attr(data-label) ": "; color: #57606a }
    tr { display: block; padding: .6rem 0; border-bottom: 1px solid #8c959f }
  }
  @media print {
    nav { display: none }
    pre code { white-space: pre-wrap; overflow-wrap: anywhere }
  }
  @media (prefers-color-scheme: dark) {
    body { color: #e6edf3; background: #0d1117 }
    a { color: #79b8ff }
    input, button { border-color: #9198a1 }
    .problem { border-color: #f2726a }
    button, pre { background: #21262d }
    td::before, .aside { color: #9198a1 }
  }
`;

/** Code in lines of its own. Long lines scroll, also by keyboard. */
export const showCode = (code: string): Html => html`<pre tabindex="0"><code>${code}</code></pre>`;

interface Row {
  /** For links to the row. */
  readonly id?: string;
  readonly cells: readonly unknown[];
}

/** A table. On a narrow screen it is a list, in which each cell but the first of its row is labelled by its heading. */
export const tableOf = (headings: readonly string[], rows: readonly Row[]): Html =>
  html`<table>
    <thead>
      <tr>
        ${headings.map((heading) => html`<th scope="col">${heading}</th>`)}
      </tr>
    </thead>
    <tbody>
      ${rows.map(
        ({ id, cells: [first, ...others] }) =>
          html`<tr${id === undefined ? "" : html` id="${id}"`}>
            <th scope="row">${first}</th>
            ${others.map((cell, index) => html`<td data-label="${headings[index + 1]}">${cell}</td>`)}
          </tr>`,
      )}
    </tbody>
  </table>`;

/** Built as one string, so that no space is added between the tags: its hash must stay the same. */
const STYLE_ELEMENT = new Html(`<style>${STYLE}</style>`);

/**
 * Sends a form once in ten seconds, unless the page is shown again. Of two clicks a browser shows only the second
 * answer, and the first one may contain what is shown only once: a key, or the way back to a program. Selects a code that
 * gets the focus, so that it can be copied by keyboard.
 */
const SCRIPT = `
  let sent = false;
  const note = (is) => document.body.setAttribute("aria-busy", (sent = is));
  addEventListener("submit", (event) => {
    if (sent) return event.preventDefault();
    note(true);
    setTimeout(note, 10_000, false);
  });
  addEventListener("pageshow", () => note(false));
  addEventListener("focusin", ({ target }) => target.matches("code") && getSelection().selectAllChildren(target));
`;
const SCRIPT_ELEMENT = new Html(`<script>${SCRIPT}</script>`);

/** Only this style and this script are allowed, by their hashes: text in a page cannot inject others. */
const [STYLE_HASH, SCRIPT_HASH] = [STYLE, SCRIPT].map((text) => hash("sha256", text, "base64"));

/**
 * The URL of a page contains a token: it must not be sent to other sites, or found by search engines.
 * @param formsLeadTo to which other origins than this server the answer to a form may redirect
 */
export const pageHeaders = (formsLeadTo: readonly string[] = []) => ({
  "Cache-Control": NOT_CHANGED,
  "Content-Security-Policy": [
    "default-src 'none'",
    `style-src 'sha256-${STYLE_HASH}'`,
    `script-src 'sha256-${SCRIPT_HASH}'`,
    "img-src data:",
    ["form-action 'self'", ...formsLeadTo].join(" "),
    "base-uri 'none'",
    "frame-ancestors 'none'",
  ].join("; "),
  "Referrer-Policy": "no-referrer",
  "X-Robots-Tag": "noindex, nofollow",
});

export const PAGE_HEADERS = pageHeaders();

export const setPageHeaders: Handler = (_request, response, next) => {
  response.set(PAGE_HEADERS);
  next();
};

/** A page of the documentation, with links to the others; `path` is its own path. */
export const documentationPage = (path: PagePath, title: string, body: Html): string =>
  page(title, body, { around: navigation(path) });

/** The route of such a page, which needs no key. */
export const documentationRoute = (path: PagePath, title: string, body: () => Html): Router =>
  Router({ caseSensitive: true, strict: true }).get(path, (_request, response) => {
    response.set(PAGE_HEADERS).send(documentationPage(path, title, body()));
  });

interface Frame {
  /** Navigation. */
  readonly around?: Html;
  /** What has happened on the page, for its title: screen readers read that first. */
  readonly event?: string | undefined;
}

/** A page, by default with the product's name in place of navigation. It works without scripts, too. */
export function page(title: string, body: Html, { around, event }: Frame = {}): string {
  return html`<!doctype html>
    <html lang="en">
      <head>
        <meta charset="utf-8" />
        <meta name="viewport" content="width=device-width, initial-scale=1" />
        <meta name="robots" content="noindex, nofollow" />
        <title>${event && `${event}: `}${title} &ndash; Memory Graph</title>
        ${ICON_LINK} ${STYLE_ELEMENT}
      </head>
      <body class="${around ? "wide" : "narrow"}">
        <header>${around ?? html`<p class="aside">${HOME.name}</p>`}</header>
        <main id="content">
          <h1>${title}</h1>
          ${body}
        </main>
        ${SCRIPT_ELEMENT}
      </body>
    </html> `.text;
}
