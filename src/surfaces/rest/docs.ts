import { hash } from "node:crypto";
import { createRequire } from "node:module";
import { dirname } from "node:path";
import { type Handler, type Response, Router } from "express";
import type { GraphQLSchema } from "graphql";
import type { Operation } from "../../operation/operation.js";
import { onFirstUse } from "../../platform/on-first-use.js";
import { CACHED_FOREVER } from "../caching.js";
import { ICON_LINK, NAVIGATION_STYLE, navigation } from "../navigation.js";
import { openApiJson } from "./openapi.js";

/**
 * The documentation of REST: `/openapi.json` for programs, `/docs` for people; neither needs a key. The page is Swagger
 * UI, served from here so that it works offline. Swagger UI comes as one built file, is maintained, has no
 * dependencies, runs without `eval` and sends no requests to other hosts.
 */
export function docsRoutes(operations: readonly Operation[], schema: GraphQLSchema, publicUrl?: string): Router {
  const router = Router({ caseSensitive: true, strict: true });
  router.get(
    "/openapi.json",
    serveUnchanging("application/json; charset=utf-8", () => openApiJson(operations, schema, publicUrl)),
  );
  router.get(
    "/docs",
    serveUnchanging("text/html; charset=utf-8", () => PAGE),
  );
  router.get(`${ASSETS}/start.css`, (_request, response) => cacheForever(response).type("text/css").send(STYLE));
  router.get(`${ASSETS}/start.js`, (_request, response) => cacheForever(response).type("text/javascript").send(START));
  for (const name of ["swagger-ui.css", "swagger-ui-bundle.js"]) {
    router.get(`${ASSETS}/${name}`, (_request, response) => {
      cacheForever(response).sendFile(name, { root: dirname(SWAGGER_UI), cacheControl: false, acceptRanges: false });
    });
  }
  return router;
}

const tagOf = (text: string): string => hash("sha256", text, "base64url");

const require = createRequire(import.meta.url);
const SWAGGER_UI = require.resolve("swagger-ui-dist/package.json");

/** Only scripts of this service run, without `eval`. Swagger UI needs inline styles, and icons as data URLs. */
const POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "connect-src 'self'",
  "style-src 'self' 'unsafe-inline'",
  "img-src 'self' data:",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join("; ");

/** Starts Swagger UI without a validator on another host, and without keeping the key in the browser. */
const START = `
const dark = matchMedia("(prefers-color-scheme: dark)");
const follow = () => document.documentElement.classList.toggle("dark-mode", dark.matches);
follow();
dark.addEventListener("change", follow);
SwaggerUIBundle({
  dom_id: "#content",
  url: new URL("openapi.json", document.baseURI).href,
  validatorUrl: null,
  deepLinking: true,
  displayRequestDuration: true,
  defaultModelsExpandDepth: 0,
});
`.trimStart();

/**
 * The same navigation as on other pages. The column of links is always empty, so it is hidden to save room on phones.
 * Many of Swagger UI's colours are too pale to read: each is replaced by a darker one of the same hue, or a lighter one
 * on dark.
 */
const STYLE = `
body { margin: 0 }
header { font: 1.05rem/1.6 system-ui, sans-serif; max-width: 1460px; margin: 0 auto; padding: 1.2rem 20px 0; box-sizing: border-box }
header a { color: #0b57d0 }
${NAVIGATION_STYLE}
nav [aria-current] { color: #3b4151; font-weight: 600; text-decoration: none }
.swagger-ui .copy-to-clipboard :focus-visible { outline-color: #fff !important; outline-offset: -2px }
.swagger-ui .response-col_links { display: none }
.swagger-ui .responses-inner { overflow-x: auto }
.dark-mode .swagger-ui .headers .header-col { color: inherit }
.swagger-ui .microlight span[style*="rgb(211, 99, 99)"] { color: #ff9b9b !important }
html.dark-mode .swagger-ui .opblock .opblock-title.parameter__name.required::after { color: #ff8a8a }
html.dark-mode .swagger-ui .opblock .opblock-section-header .try-out__btn.cancel, .dark-mode .swagger-ui .btn.cancel { color: #ff8a8a }
html:not(.dark-mode) .swagger-ui .opblock-get .opblock-summary-method { background: #0b63c5 }
html:not(.dark-mode) .swagger-ui .opblock-post .opblock-summary-method { background: #1a7f4b }
html:not(.dark-mode) .swagger-ui .opblock-put .opblock-summary-method { background: #9a5b00 }
html:not(.dark-mode) .swagger-ui .opblock-patch .opblock-summary-method { background: #0b7a66 }
html:not(.dark-mode) .swagger-ui .opblock-delete .opblock-summary-method { background: #c62222 }
html:not(.dark-mode) .swagger-ui .info .title small { background: #5b6270 }
html:not(.dark-mode) .swagger-ui .info .title small.version-stamp { background: #4b7000 }
html:not(.dark-mode) .swagger-ui .info .link, html:not(.dark-mode) .swagger-ui .info .url { color: #0b57d0 }
html:not(.dark-mode) .swagger-ui .btn.authorize { color: #1a7f4b; border-color: #1a7f4b }
html:not(.dark-mode) .swagger-ui .btn.execute { background: #0b63c5; border-color: #0b63c5 }
html:not(.dark-mode) .swagger-ui .btn.cancel { color: #c62222; border-color: #c62222 }
html:not(.dark-mode) .swagger-ui .parameter__in { color: #5b6270 }
html:not(.dark-mode) .swagger-ui .parameter__name.required span { color: #b00020 }
html:not(.dark-mode) .swagger-ui .parameter__name.required::after { color: #b00020 }
html:not(.dark-mode) .swagger-ui .json-schema-2020-12-property--required .json-schema-2020-12__title::after { color: #b00020 !important }
html:not(.dark-mode) .swagger-ui :is(input, textarea, select)[disabled] { color: #5b6270 }
html:not(.dark-mode) .swagger-ui .renderedMarkdown code { color: #5b0bb5 }
html:not(.dark-mode) .swagger-ui .json-schema-2020-12-expand-deep-button { color: #4d4d4d }
html:not(.dark-mode) .swagger-ui [class*="__value--secondary"] { color: #4d4d4d }
html:not(.dark-mode) .swagger-ui .json-schema-2020-12__attribute--primary { color: #44449a }
html:not(.dark-mode) .swagger-ui .json-schema-2020-12__constraint--string { background: #7a5700 }
html:not(.dark-mode) .swagger-ui .download-contents { background: #5b6270 }
.dark-mode header a { color: #79b8ff }
.dark-mode nav [aria-current] { color: #e4e6e6 }
`.trimStart();

/** The path contains a hash of the assets, so browsers may cache them forever. */
const ASSETS = `/docs/${tagOf((require(SWAGGER_UI) as { version: string }).version + START + STYLE).slice(0, 12)}`;

/** Paths are relative, so that the page works behind a proxy that adds a prefix. */
const PAGE = `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Memory Graph Gateway: REST reference</title>
${ICON_LINK.text}
<link rel="stylesheet" href=".${ASSETS}/swagger-ui.css">
<link rel="stylesheet" href=".${ASSETS}/start.css">
</head>
<body>
<header>
${navigation("/docs").text}
<noscript><p>This page needs JavaScript; <a href="./openapi.json">openapi.json</a> says the same to programs.</p></noscript>
</header>
<div id="content"></div>
<script src=".${ASSETS}/swagger-ui-bundle.js"></script>
<script src=".${ASSETS}/start.js"></script>
</body>
</html>
`;

/**
 * Serves a text that changes only with a release: made at the first request, and sent again only if it changed. All
 * answers share its bytes, so that many that nobody reads take no memory.
 */
function serveUnchanging(type: string, make: () => string): Handler {
  const made = onFirstUse(() => {
    const text = make();
    return { bytes: Buffer.from(text), tag: `"${tagOf(text)}"` };
  });
  return (_request, response) => {
    const { bytes, tag } = made();
    // Express itself answers 304 to clients that have this tag.
    guardPage(response).set("Cache-Control", "no-cache").set("ETag", tag).type(type).send(bytes);
  };
}

const guardPage = (response: Response): Response =>
  response.set("Content-Security-Policy", POLICY).set("Referrer-Policy", "no-referrer");

const cacheForever = (response: Response): Response => guardPage(response).set("Cache-Control", CACHED_FOREVER);
