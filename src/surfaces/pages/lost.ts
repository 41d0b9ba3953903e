import { type ErrorRequestHandler, type Handler, type Request, Router } from "express";
import { html } from "../../platform/html.js";
import { failureBehind, isRead, noteFailure, prefersPage } from "../http.js";
import { HOME, PAGE_LINKS, linkFrom } from "../navigation.js";
import { NoSuchPath } from "../plain-errors.js";
import { problemNote } from "./forms.js";
import { PAGE_HEADERS, page } from "./layout.js";

/** Whoever sends a key is a program, even if it prefers HTML, as Java's does unless told otherwise. */
const isPerson = (request: Request): boolean =>
  isRead(request) && request.headers.authorization === undefined && prefersPage(request);

/** Leads people who add a slash to the address of a page to the page. The door of GraphQL answers also with a slash. */
export function pagesWithSlash(): Router {
  const router = Router({ caseSensitive: true, strict: true });
  for (const { path } of PAGE_LINKS.filter((link) => link.path !== "/graphql")) {
    router.get(`${path}/`, ({ originalUrl }, response) => {
      const [, ...query] = originalUrl.split("?");
      response.redirect(308, [`..${path.slice(path.lastIndexOf("/"))}`, ...query].join("?"));
    });
  }
  return router;
}

/** A person who mistyped an address, or whose mail program cut a link, reads a page; programs get the error as JSON. */
export const lostPage: Handler = (request, response, next) => {
  response.vary("Accept");
  if (!isPerson(request)) return next();
  const [here = ""] = request.originalUrl.split("?");
  noteFailure(new NoSuchPath(), response);
  response.set(PAGE_HEADERS).send(
    page(
      "Not found",
      html`<p class="problem">There is no page at this address. Check it, or open the link again.</p>
        <p><a href="${linkFrom(here, HOME)}">All pages of Memory Graph</a></p>`,
    ),
  );
};

/**
 * A person who opens pages too often, or while the service is busy, reads when to come back. Every other error gets the
 * answer of its door.
 */
export const busyPageOr =
  (answer: ErrorRequestHandler): ErrorRequestHandler =>
  (error: unknown, request, response, next) => {
    const mayComeBack = failureBehind(error)?.retryAfterSeconds !== undefined;
    if (response.headersSent || !mayComeBack || !isPerson(request)) return void answer(error, request, response, next);
    const note = problemNote(noteFailure(error, response));
    response.set(PAGE_HEADERS).send(page("Try again later", html`${note}`));
  };
