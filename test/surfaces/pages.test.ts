import { execFileSync } from "node:child_process";
import { beforeAll, expect, it } from "vitest";
import { PAGE_LINKS } from "../../src/surfaces/navigation.js";
import { describeInBrowser } from "../support/browser.js";
import { createWorld } from "../support/world.js";

beforeAll(() => {
  execFileSync(process.execPath, [".config/run.mjs", "--no-build", "--playground"], { stdio: "inherit" });
});

type Scheme = "light" | "dark";

/** Something that only the page's own style makes so, once the page is there. */
interface Looks {
  readonly selector: string;
  readonly property: string;
  readonly expected: Readonly<Record<Scheme, string>>;
}

const BACKGROUND = { property: "backgroundColor", expected: { light: "rgb(255, 255, 255)", dark: "rgb(13, 17, 23)" } };
const LAYOUT: Looks = { selector: "body", ...BACKGROUND };

/** Those that bring a style of their own. */
const OTHERS: Readonly<Record<string, Looks>> = {
  "/docs": {
    ...{ selector: ".swagger-ui .opblock-tag-section", property: "color" },
    expected: { light: "rgb(59, 65, 81)", dark: "rgb(228, 230, 230)" },
  },
  "/graphql": {
    ...{ selector: ".graphiql-container", property: "backgroundColor" },
    expected: { light: "rgb(255, 255, 255)", dark: "rgb(33, 42, 59)" },
  },
};

/** Pages that anybody can open: the documentation, and one of each other kind that shares the layout. */
const PAGES = ["/", ...PAGE_LINKS.map(({ path }) => path), "/billing/return", "/invitations/unknown"];

describeInBrowser("pages", (browser) => {
  it.each(PAGES.flatMap((path) => (["light", "dark"] as const).map((scheme) => [path, scheme] as const)))(
    "lets the style of %s in, says nothing in the console and fits a phone (%s)",
    async (path, colorScheme) => {
      await using world = await createWorld();
      const { url } = await world.serve();
      const context = await browser().newContext({ viewport: { width: 390, height: 800 }, colorScheme });
      const page = await context.newPage();
      const said: string[] = [];
      page.on("console", (message) => said.push(message.text()));
      page.on("pageerror", (error) => said.push(String(error)));
      page.on("request", (request) => void (new URL(request.url()).origin === url || said.push(request.url())));
      const { selector, property, expected } = OTHERS[path] ?? LAYOUT;

      await page.goto(url + path);
      await page.locator(selector).first().waitFor();
      await expect.poll(() => page.locator("h1").count()).toBe(1);
      const look = await page.evaluate<object>(
        `({
          value: getComputedStyle(document.querySelector(${JSON.stringify(selector)}))[${JSON.stringify(property)}],
          width: document.documentElement.scrollWidth,
        })`,
      );
      await context.close();

      expect(look).toEqual({ value: expected[colorScheme], width: 390 });
      // The browser itself tells of an answer that is an error, and GraphiQL of the workers it starts.
      expect(said.filter((text) => !/^(Failed to load resource|setup-workers\/vite)/.test(text))).toEqual([]);
    },
  );
});
