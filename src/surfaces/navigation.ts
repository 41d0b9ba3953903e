import { type Html, html } from "../platform/html.js";

/** A page of the documentation. */
export interface PageLink {
  readonly path: string;
  readonly name: string;
  readonly about: string;
}

/** Every page of the documentation but the home page, in the order in which a new user needs them. */
export const PAGE_LINKS: readonly PageLink[] = [
  { path: "/graphql", name: "Playground", about: "Try GraphQL in the browser; examples are at hand." },
  { path: "/docs", name: "REST reference", about: "Every path with its fields and answers, and a button to try it." },
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
];

export const HOME: PageLink = { path: "/", name: "Memory Graph", about: "Links to every page." };

/** Links are relative, so that they work behind a proxy that adds a prefix. */
export const linkFrom = (here: string, { path }: Pick<PageLink, "path">): string =>
  `${"../".repeat(here.split("/").length - 2) || "./"}${path.slice(1)}`;

/** Links to all pages; the present one is marked. */
export const navigation = (here: string): Html =>
  html`<nav aria-label="Pages">
    ${[HOME, ...PAGE_LINKS].map((place) => {
      const current = place.path === here ? html` aria-current="page"` : "";
      return html`<a href="${linkFrom(here, place)}" ${current}>${place.name}</a> `;
    })}
  </nav>`;
