import { existsSync } from "node:fs";
import { join } from "node:path";
import express, { type Request, Router } from "express";
import { PROJECT } from "../../platform/project.js";
import { CACHED_FOREVER } from "../caching.js";
import { prefersPage } from "../http.js";

/** The folder that `client` is built into. The relative path is the same from `src` and from `dist`. */
const PAGE = join(PROJECT, "dist", "playground");

/** Only scripts of this service run. The editor needs inline styles, with fonts and images as data URLs. */
const HEADERS = {
  "Content-Security-Policy": [
    "default-src 'none'",
    "script-src 'self'",
    "worker-src 'self'",
    "connect-src 'self'",
    "style-src 'self' 'unsafe-inline'",
    "font-src 'self' data:",
    "img-src 'self' data:",
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'none'",
  ].join("; "),
  "Referrer-Policy": "no-referrer",
};

/** GraphiQL for browsers, at the same path as GraphQL for programs. If it is not built, it is not served. */
export function playgroundRoutes(): Router {
  const router = Router({ caseSensitive: true, strict: true });
  if (!existsSync(PAGE)) return router;
  router.get("/graphql", (request, response, next) => {
    response.vary("Accept");
    if (!asksForPage(request)) return next();
    response.set(HEADERS).set("Cache-Control", "no-cache");
    response.sendFile("index.html", { root: PAGE, cacheControl: false, acceptRanges: false });
  });
  router.use(
    "/playground/assets",
    express.static(join(PAGE, "playground", "assets"), {
      index: false,
      redirect: false,
      acceptRanges: false,
      cacheControl: false,
      setHeaders: (response) => void response.set(HEADERS).set("Cache-Control", CACHED_FOREVER),
    }),
  );
  return router;
}

/** A URL with the parameter `query` is a GraphQL request, also from a browser. */
const asksForPage = (request: Request): boolean => prefersPage(request) && !("query" in request.query);
