import { fileURLToPath } from "node:url";
import { type Plugin, defineConfig } from "vite";

const path = (relative: string) => fileURLToPath(new URL(relative, import.meta.url));

/** Moves the stylesheet behind what the page shows while it loads: in the head it would keep the page blank. */
const styleLast: Plugin = {
  name: "style-last",
  transformIndexHtml: {
    order: "post",
    handler: (html) => {
      const [link = ""] = /\s*<link rel="stylesheet"[^>]*>/.exec(html) ?? [];
      return html.replace(link, "").replace(/\s*<\/body>/, (end) => link + end);
    },
  },
};

/** Bundles the playground's page; src/surfaces/playground/routes.ts serves it. */
export default defineConfig({
  root: path("../src/surfaces/playground/client"),
  // Addresses are relative to the page, which a proxy may show below a prefix.
  base: "./",
  plugins: [styleLast],
  logLevel: "error",
  build: {
    outDir: path("../dist/playground"),
    assetsDir: "playground/assets",
    emptyOutDir: true,
    // No data: URLs in the page, not even for the icon.
    assetsInlineLimit: 0,
    // The editor is one large piece, loaded after the page.
    chunkSizeWarningLimit: Infinity,
  },
});
