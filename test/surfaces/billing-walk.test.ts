import type { Page } from "playwright-core";
import { expect, it } from "vitest";
import { createBillingWorld, customerOf } from "../support/billing.js";
import { describeInBrowser } from "../support/browser.js";
import { ask } from "../support/http.js";
import { anInvitee } from "../support/teams.js";

const MONTH_MS = 32 * 24 * 3_600_000;

describeInBrowser("billing", (browser) => {
  it("lets a team buy seats, fill them, buy more, and cancel at the end of the period", async () => {
    await using world = await createBillingWorld();
    const page = await browser().newPage();
    const owner = await world.user({ plan: "free" });
    const { url } = world.app;
    const api = async (path: string, body?: object) =>
      (await ask(url + path, { key: owner.key, ...(body ? { body } : {}) })).body as Record<string, string>;
    const { id: teamId = "" } = await api("/teams", { name: "Platform", max_members: 6 });

    // A declined card buys nothing; a valid one buys six seats.
    const { url: checkout = "" } = await api("/billing/team-checkout", {});
    await page.goto(checkout);
    expect(await textOf(page)).toContain("6 ×");
    await page.getByRole("button", { name: "Pay with a card that is declined" }).click();
    expect(await textOf(page)).toMatch(/declined/);
    expect(await api("/billing/team-subscription")).toMatchObject({ status: "none" });
    await page.getByRole("button", { name: "Pay", exact: true }).click();
    await page.waitForURL(`${url}/billing/return?session_id=*`);
    expect(await textOf(page)).toContain("Platform has 6 seats now");
    const returned = page.url();
    expect(await api("/billing/team-subscription")).toMatchObject({ status: "active", plan: "team", seats: 6 });

    // The seats are filled: five more people join, a seventh cannot.
    for (let n = 0; n < 5; n++) {
      const { actor, token } = await anInvitee(world, { teamId, owner });
      await ask(`${url}/teams/invitations/${token}/accept`, { key: actor.key, method: "POST" });
    }
    const seventh = { email: "seventh@example.com", role: "member" };
    expect(await api(`/teams/${teamId}/invitations`, seventh)).toMatchObject({ error: { reason: "team_full" } });

    // More seats: a declined card leaves an open invoice, and the seats count when it is paid on its page.
    const customer = await customerOf(world, { owner, teamId });
    world.stripe.setCard(customer, "declined");
    const pending = await api("/billing/team-upgrade", { max_members: 8 });
    expect(pending).toMatchObject({ status: "active", seats: 6, pending_update: { seats: 8 } });
    expect(await api(`/teams/${teamId}/invitations`, seventh)).toMatchObject({ error: { reason: "team_full" } });
    world.stripe.setCard(customer, "accepted");
    await page.goto(pending["hosted_invoice_url"] ?? "");
    await page.getByRole("button", { name: "Pay", exact: true }).click();
    await world.stripe.delivered();
    expect(await api("/billing/team-subscription")).toMatchObject({ seats: 8, pending_update: null });
    expect(await api(`/teams/${teamId}/invitations`, seventh)).toMatchObject({ status: "pending" });

    // Cancelled: everything stays until the period ends; then nobody is removed, and nobody can join.
    expect(await api("/billing/team-cancel", {})).toMatchObject({ status: "active", cancel_at_period_end: true });
    expect((await ask(`${url}/me`, { key: owner.key })).headers.get("ratelimit-policy")).toContain("team");
    await world.stripe.advance(MONTH_MS);
    await world.stripe.delivered();
    expect(await api("/billing/team-subscription")).toMatchObject({ status: "canceled", plan: null, member_count: 6 });
    expect((await ask(`${url}/me`, { key: owner.key })).headers.get("ratelimit-policy")).toContain("free");
    await page.goto(returned);
    expect(await textOf(page)).toContain("It has ended");
    const eighth = { email: "eighth@example.com", role: "member" };
    expect(await api(`/teams/${teamId}/invitations`, eighth)).toMatchObject({
      error: { reason: "subscription_required" },
    });
    expect(world.bugs).toEqual([]);
  });
});

const textOf = (page: Page): Promise<string> => page.locator("body").innerText();
