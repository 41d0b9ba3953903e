import type { Page } from "playwright-core";
import { expect, it } from "vitest";
import { describeInBrowser } from "../support/browser.js";
import { CODE, OAuthWalker, serveWithOAuth } from "../support/oauth.js";
import { aTeam, anInvitee } from "../support/teams.js";
import { createWorld } from "../support/world.js";

/** How long a second request may take to be sent. */
const SENT_MS = 400;

/** Clicks a button twice. @returns how many requests were sent */
async function clickTwice(page: Page, name: string): Promise<number> {
  let sent = 0;
  let answerNow = () => {};
  const isClickedTwice = new Promise<void>((resolve) => (answerNow = resolve));
  await page.route("**/*", async (route) => {
    if (route.request().method() !== "POST") return route.continue();
    sent++;
    const answer = await route.fetch({ maxRedirects: 0 });
    await isClickedTwice;
    // The browser gives up a request whose form is sent again.
    await route.fulfill({ response: answer }).catch(() => {});
  });
  // By position: a click on the button itself would wait for the answer to the first one.
  const { x = 0, y = 0 } = (await page.getByRole("button", { name }).boundingBox()) ?? {};
  const click = () => page.mouse.click(x + 5, y + 5);
  await click();
  await expect.poll(() => sent).toBe(1);
  await click();
  await page.waitForTimeout(SENT_MS);
  answerNow();
  await page.unrouteAll({ behavior: "wait" });
  return sent;
}

describeInBrowser("a double click", (browser) => {
  it("on Accept shows the key of the person who joined, and leaves the form for another attempt", async () => {
    await using world = await createWorld();
    const { url } = await world.serve();
    const { actor, token } = await anInvitee(world, await aTeam(world));
    const page = await browser().newPage();
    await page.goto(`${url}/invitations/${encodeURIComponent(token)}`);
    expect(await clickTwice(page, "Send a code")).toBe(1);
    await world.giveCode(actor.email, CODE);

    await page.locator("#code").fill("00000000");
    expect(await clickTwice(page, "Accept")).toBe(1);
    expect(await page.getByRole("alert").innerText()).toContain("This code is wrong");
    await page.locator("#code").fill(CODE);
    expect(await clickTwice(page, "Accept")).toBe(1);

    expect(await page.locator("code").first().innerText()).toMatch(/^mg_live_/);
    expect(world.bugs).toEqual([]);
  });

  it("on Allow leads back to the program, and the button works again for who comes back", async () => {
    await using world = await createWorld();
    const { url } = await serveWithOAuth(world);
    const walker = new OAuthWalker(url, world);
    const callback = { redirect_uri: `${url}/healthz` };
    const { body } = await walker.register({ redirect_uris: [callback.redirect_uri], client_name: "A program" });
    const page = await browser().newPage();
    await page.goto(url + walker.startOf(body.client_id, callback));
    await page.locator("input[name=email]").fill(walker.email);
    expect(await clickTwice(page, "Send a code")).toBe(1);
    await world.giveCode(walker.email, CODE);
    await page.locator("#code").fill(CODE);

    expect(await clickTwice(page, "Allow")).toBe(1);
    await page.waitForURL((url) => url.searchParams.get("code") !== null);
    await page.goBack();
    expect(await page.locator("body").getAttribute("aria-busy")).toBe("false");
    expect(world.bugs).toEqual([]);
  });
});
