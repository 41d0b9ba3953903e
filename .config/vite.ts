import { fileURLToPath } from "node:url";
import { defineConfig } from "vite";

const path = (relative: string) => fileURLToPath(new URL(relative, import.meta.url));

/** Bundles the playground's page; src/surfaces/playground/routes.ts serves it. */
export default defineConfig({
  root: path("../src/surfaces/playground/client"),
  base: "/playground/",
  logLevel: "error",
  build: {
    outDir: path("../dist/playground"),
    emptyOutDir: true,
    // The icon too: data: URLs stay out of the page.
    assetsInlineLimit: 0,
    // The editor is one large piece, loaded after the page.
    chunkSizeWarningLimit: Infinity,
  },
});
