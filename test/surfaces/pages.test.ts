import { expect, it } from "vitest";
import { describeInBrowser } from "../support/browser.js";
import { createWorld } from "../support/world.js";

/** Pages that anybody can open; one of each kind that shares the layout. */
const PAGES = ["/docs/limits", "/billing/return", "/invitations/unknown"];

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

      await page.goto(url + path);
      const look = await page.evaluate<object>(
        `({
          background: getComputedStyle(document.body).backgroundColor,
          maxWidth: getComputedStyle(document.body).maxWidth,
          width: document.documentElement.scrollWidth,
        })`,
      );
      await context.close();

      const background = colorScheme === "dark" ? "rgb(13, 17, 23)" : "rgb(255, 255, 255)";
      expect(look).toEqual({ background, maxWidth: "576px", width: 390 });
      // The browser itself tells of an answer that is an error.
      expect(said.filter((text) => !text.startsWith("Failed to load resource"))).toEqual([]);
    },
  );
});
