import { expect, it } from "vitest";
import { teamInvoices } from "../../../src/features/billing/team-invoices.js";
import { upgradeTeam } from "../../../src/features/billing/upgrade-team.js";
import { cursorOf } from "../../../src/operation/page.js";
import { aSubscriber, createBillingWorld, customerOf } from "../../support/billing.js";
import { aTeam } from "../../support/teams.js";

it("lists the team's invoices page by page, newest first, with their links and PDF files", async () => {
  await using world = await createBillingWorld();
  const payer = await aSubscriber(world, { seats: 5 });
  const { owner } = payer;
  await aSubscriber(world);
  await owner.did(upgradeTeam, { maxMembers: 8 });
  world.stripe.setCard(await customerOf(world, payer), "declined");
  await owner.did(upgradeTeam, { maxMembers: 9 });

  const first = await owner.did(teamInvoices, { limit: 2 });
  const second = await owner.did(teamInvoices, { limit: 2, cursor: first.nextCursor });

  const all = [...first.invoices, ...second.invoices];
  expect(second.nextCursor).toBeNull();
  expect(all.map(({ status, currency, tax }) => [status, currency, tax])).toEqual([
    ["open", "usd", 0],
    ["paid", "usd", 0],
    ["paid", "usd", 0],
  ]);
  expect(all.at(-1)).toMatchObject({ number: expect.stringMatching(/-0001$/), amount: 5 * 800 });
  expect(await (await fetch(all[0]?.hostedInvoiceUrl ?? "")).text()).toContain(all[0]?.number);
  const pdf = await fetch(all[0]?.pdfUrl ?? "");
  expect([pdf.headers.get("content-type"), (await pdf.text()).slice(0, 5)]).toEqual(["application/pdf", "%PDF-"]);
});

it("refuses the cursor of another list", async () => {
  await using world = await createBillingWorld();
  const { owner } = await aSubscriber(world);

  for (const place of ["in_nothing", "sub_1", "in_1&customer=x"]) {
    expect(await owner.does(teamInvoices, { cursor: cursorOf("teamInvoices", place) })).toBeRefused("bad_request");
  }
  expect(await owner.does(teamInvoices, { limit: 101 })).toBeRefused("bad_request");
});

it("lists none for a team that bought nothing, and refuses all but the owner", async () => {
  await using world = await createBillingWorld();
  const { owner, admin, member } = await aTeam(world);

  expect(await owner.did(teamInvoices)).toEqual({ invoices: [], nextCursor: null });
  expect(world.stripe.requests).toEqual([]);
  expect(await admin.does(teamInvoices)).toBeRefused("forbidden", "role_too_small");
  expect(await member.does(teamInvoices)).toBeRefused("forbidden", "role_too_small");
});
