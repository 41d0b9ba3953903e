import { ACCOUNT_PATH } from "../operation/product.js";
import { type Html, html } from "../platform/html.js";

/** A page to which the navigation of the others leads. */
export interface PageLink {
  readonly path: string;
  readonly name: string;
  readonly about: string;
}

/** The page of a team and its billing. */
export const ACCOUNT = {
  path: ACCOUNT_PATH,
  name: "Team and billing",
  about: "Who is in your team and what it has bought: invite people, buy seats, find the invoices.",
} as const satisfies PageLink;

/** Every such page but the home page, in the order in which a new user needs them. */
export const PAGE_LINKS = [
  { path: "/graphql", name: "Playground", about: "Try GraphQL in the browser; examples are at hand." },
  { path: "/docs", name: "REST reference", about: "Every path with its fields and answers, and a button to try it." },
  ACCOUNT,
  { path: "/docs/agents", name: "Agents", about: "How to connect Claude Code, Cursor, VS Code and others; the tools." },
  {
    path: "/docs/graphql",
    name: "GraphQL from a frontend",
    about: "Snippets for fetch, Apollo, urql, Relay and codegen.",
  },
  {
    path: "/docs/access",
    name: "Access",
    about: "Which scope of a key, and which role in a team, each operation needs.",
  },
  { path: "/docs/errors", name: "Errors", about: "Every code and reason, what it means and what to do." },
  { path: "/docs/limits", name: "Limits", about: "The limits of a request, and the answer beyond them." },
] as const satisfies readonly PageLink[];

export const HOME = { path: "/", name: "Memory Graph", about: "Links to every page." } as const satisfies PageLink;

/** So that no page is served to which none links. */
export type PagePath = (typeof HOME | (typeof PAGE_LINKS)[number])["path"];

const ICON = `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 32 32">
  <path d="M8 24 16 8l8 16Z" fill="none" stroke="#d60590" stroke-width="2.5"/>
  <g fill="#d60590"><circle cx="16" cy="7" r="5"/><circle cx="7" cy="24" r="5"/><circle cx="25" cy="24" r="5"/></g>
</svg>`;

/** The icon of a page's tab. A data URL, since a page's path may be below any prefix. */
export const ICON_LINK: Html = html`<link rel="icon" href="data:image/svg+xml,${encodeURIComponent(ICON)}" />`;

/** Links are relative, so that they work behind a proxy that adds a prefix. */
export const linkFrom = (here: string, { path }: Pick<PageLink, "path">): string =>
  `${"../".repeat(here.split("/").length - 2) || "./"}${path.slice(1)}`;

/**
 * The style of `navigation`, and the mark of what has the focus: one that is seen on light and on dark. The first link
 * is seen only by people who come to it by keyboard.
 */
export const NAVIGATION_STYLE = `
nav { display: flex; flex-wrap: wrap; gap: .3rem 1.2rem; font-size: .95em }
nav a { padding: .2rem 0 }
.skip:not(:focus) { position: absolute; clip-path: inset(50%) }
:focus-visible { outline: 2px solid #3b7de8 !important; outline-offset: 2px }
`.trim();

/**
 * Links to the element `content` and to all pages; the present one is marked. The first link has a path, since Swagger UI
 * handles those that begin with `#`, and would leave the focus where it is.
 */
export const navigation = (current: PagePath, here: string = current): Html =>
  html`<a class="skip" href="${linkFrom(here, { path: here })}#content">Skip to the content</a>
    <nav aria-label="Pages">
      ${[HOME, ...PAGE_LINKS].map((place) => {
        const mark = place.path === current ? html` aria-current="page"` : "";
        return html`<a href="${linkFrom(here, place)}" ${mark}>${place.name}</a> `;
      })}
    </nav>`;
