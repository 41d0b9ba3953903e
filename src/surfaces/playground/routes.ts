import { existsSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import express, { type Request, Router } from "express";
import { prefersPage } from "../http.js";

/** What `client` is built into; this file, be it the source or what it is compiled to, is as far from it. */
const PAGE = fileURLToPath(new URL("../../../dist/playground", import.meta.url));

/** The page runs our own scripts only; its editor needs styles of its own making, and fonts and images inside them. */
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

/** GraphiQL for browsers, at the path where programs find GraphQL. Where it is not built, there is none. */
export function playgroundRoutes(): Router {
  const router = Router({ caseSensitive: true, strict: true });
  if (!existsSync(PAGE)) return router;
  router.get("/graphql", (request, response, next) => {
    response.vary("Accept");
    if (!asksForPage(request)) return next();
    response.set(HEADERS).set("Cache-Control", "no-cache");
    response.sendFile("index.html", { root: PAGE, cacheControl: false, acceptRanges: false });
  });
  const assets = { index: false, redirect: false, acceptRanges: false, immutable: true, maxAge: "365d" };
  // The names hold a hash of what is in them, so a browser need never ask again.
  router.use(
    "/playground/assets",
    express.static(join(PAGE, "assets"), { ...assets, setHeaders: (response) => void response.set(HEADERS) }),
  );
  return router;
}

/** An address with a query in it means GraphQL, whoever opens it. */
const asksForPage = (request: Request): boolean => prefersPage(request) && !("query" in request.query);
