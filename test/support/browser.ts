import { existsSync } from "node:fs";
import { type Browser, type BrowserContext, chromium } from "playwright-core";
import { afterAll, afterEach, beforeAll, beforeEach, describe } from "vitest";

/** The same browser without its own windows takes a fifth less CPU. */
const PROGRAMS = ["/usr/bin/chromium-headless-shell", "/usr/bin/chromium"] as const;
export const CHROMIUM = process.env["CHROMIUM_PATH"] ?? PROGRAMS.find((path) => existsSync(path)) ?? PROGRAMS[0];
/** With CI_STRICT=1 a missing browser is an error, not a reason to skip. */
export const isBrowserExpected = existsSync(CHROMIUM) || process.env["CI_STRICT"] === "1";

/** Tests in a real browser. Without one they are skipped and listed as such; with CI_STRICT=1 that is an error. */
export function describeInBrowser(what: string, tests: (browser: () => Browser) => void): void {
  if (!existsSync(CHROMIUM))
    console.warn(`No Chromium at ${CHROMIUM} (CHROMIUM_PATH): ${what} is not tried in a browser.`);
  describe.skipIf(!isBrowserExpected)(`${what}, in a browser`, () => {
    let browser: Browser | undefined;
    beforeAll(async () => {
      const quiet = ["--disable-quic", "--no-first-run", "--disable-background-networking"];
      const args = ["--no-sandbox", "--disable-gpu", "--disable-sync", "--disable-component-update", ...quiet];
      browser = await chromium.launch({ executablePath: CHROMIUM, args });
    });
    afterAll(() => browser?.close());
    let shared: BrowserContext[] = [];
    beforeEach(() => void (shared = browser?.contexts() ?? []));
    // The tabs that a test leaves would go on drawing during the next ones.
    afterEach(async () => {
      for (const context of browser?.contexts() ?? []) if (!shared.includes(context)) await context.close();
    });
    tests(() => {
      if (!browser) throw new Error("The browser is not started yet.");
      return browser;
    });
  });
}
