import { once } from "node:events";
import { request } from "node:http";
import { connect } from "node:net";
import pg from "pg";
import { expect, it, onTestFinished, vi } from "vitest";
import { callersByKeys } from "../../src/features/access/caller-statement.js";
import { createApiKey } from "../../src/features/access/create-api-key.js";
import { revokeApiKey } from "../../src/features/access/revoke-api-key.js";
import { createMemories } from "../../src/features/bulk/create-memories.js";
import { leaveTeam } from "../../src/features/teams/leave-team.js";
import { removeMember } from "../../src/features/teams/members/remove-member.js";
import { ask } from "../support/http.js";
import { aTeam } from "../support/teams.js";
import { createWorld } from "../support/world.js";

const NOTE = { type: "general", title: "A note", content: "Something." };
/** Much more than the system buffers for a client that does not read. */
const LARGE = Array.from({ length: 60 }, () => ({ ...NOTE, context: { text: "x".repeat(16_000) } }));

/** An export whose client pauses while `change` happens: the text received, and whether the answer was complete. */
function exportedAround(url: string, key: string, change: () => Promise<unknown>) {
  return new Promise<{ text: string; isWhole: boolean }>((resolve, reject) => {
    const asked = request(`${url}/v1/export`, { headers: { authorization: `Bearer ${key}` } });
    asked.on("response", (answer) => {
      let text = "";
      answer.on("data", (chunk: Buffer) => void (text += chunk.toString()));
      answer.on("error", () => {}).on("close", () => resolve({ text, isWhole: answer.complete }));
      answer.pause();
      change().then(() => answer.resume(), reject);
    });
    asked.on("error", reject).end();
  });
}

it("ends when the key is revoked or the member removed meanwhile, and never continues in another graph", async () => {
  await using world = await createWorld();
  const { url } = await world.serve();
  const { teamId, owner, admin, member } = await aTeam(world);
  for (let call = 0; call < 25; call++) await owner.did(createMemories, { memories: LARGE });
  await member.did(createMemories, { memories: [{ ...NOTE, title: "Their own" }], graph: "personal" });

  const warnings: Error[] = [];
  const note = (warning: Error) => void warnings.push(warning);
  process.on("warning", note);
  onTestFinished(() => void process.off("warning", note));

  const before = await exportedAround(url, owner.key, async () => {});
  const queries = vi.spyOn(pg.Client.prototype, "query");
  onTestFinished(() => queries.mockRestore());
  const revoked = await exportedAround(url, admin.key, async () => {
    queries.mockClear();
    await admin.did(revokeApiKey, { id: admin.caller.keyId });
  });
  const texts = queries.mock.calls.map(([asked]: readonly unknown[]) => (asked as { text?: string }).text);
  const lookUps = texts.filter((text) => text === callersByKeys.text).length;
  const removed = await exportedAround(url, member.key, () =>
    owner.did(removeMember, { teamId, userId: member.caller.userId }),
  );

  expect([before.isWhole, revoked.isWhole, removed.isWhole]).toEqual([true, false, false]);
  // For the revocation, for pages that were on their way, and once for the next.
  expect(lookUps).toBeGreaterThan(1);
  expect(lookUps).toBeLessThan(13);
  for (const { text } of [revoked, removed]) {
    expect(text.length).toBeLessThan(before.text.length / 2);
    expect(text).not.toMatch(/"record":"end"|Their own/);
  }
  // Node warns of listeners that each page leaves.
  expect(warnings).toEqual([]);
  expect(world.bugs).toEqual([]);
});

it("resets the connection of HTTP/1.0 when it ends early: to nginx, any other end would be that of the answer", async () => {
  await using world = await createWorld();
  const { url } = await world.serve();
  const ann = await world.user();
  for (let call = 0; call < 25; call++) await ann.did(createMemories, { memories: LARGE });
  const { hostname, port } = new URL(url);
  /** How the connection ends, if the client reads nothing while `change` happens. */
  const endAround = async (key: string, change: () => Promise<unknown>) => {
    const socket = connect(Number(port), hostname);
    const end = new Promise<string>((resolve) => {
      socket.on("end", () => resolve("end")).on("error", ({ code }: NodeJS.ErrnoException) => resolve(code ?? ""));
    });
    socket.write(`GET /v1/export HTTP/1.0\r\nAuthorization: Bearer ${key}\r\n\r\n`);
    await once(socket, "readable");
    await change();
    socket.resume();
    return end;
  };

  expect(await endAround(ann.key, async () => {})).toBe("end");
  // A client with Node takes a reset for an end if some of the answer is still to be read then: about one in ten.
  let end = "";
  for (let tries = 0; tries < 5 && end !== "ECONNRESET"; tries++) {
    const { id, key } = await ann.did(createApiKey, { name: "Export" });
    end = await endAround(key, () => ann.did(revokeApiKey, { id }));
  }
  expect(end).toBe("ECONNRESET");
});

it("keeps nobody from being served while its client does not read", async () => {
  await using world = await createWorld();
  const { url } = await world.serve({}, undefined, { requestsAtOnce: 1 });
  const [ann, bob] = [await world.user(), await world.user()];
  for (let call = 0; call < 15; call++) await ann.did(createMemories, { memories: LARGE });

  let status = 0;
  const { isWhole } = await exportedAround(url, ann.key, async () => {
    ({ status } = await ask(`${url}/me`, { key: bob.key }));
  });

  expect([status, isWhole]).toEqual([200, true]);
});

it("does not continue in another graph, page by page", async () => {
  await using world = await createWorld();
  const { url } = await world.serve();
  const { teamId, owner, member } = await aTeam(world);
  await owner.did(createMemories, { memories: [NOTE, NOTE] });
  const page = async (query = "") => {
    const { status, body } = await ask(`${url}/v1/export/records?limit=1${query}`, { key: member.key });
    return { status, ...(body as { records: object[]; next_cursor: string | null }) };
  };
  const { next_cursor: cursor } = await page();
  expect(await page(`&cursor=${cursor}`)).toMatchObject({ status: 200, records: [NOTE] });

  await member.did(leaveTeam, { teamId });

  expect((await page(`&cursor=${cursor}`)).status).toBe(400);
  expect((await page()).status).toBe(200);
});

it("refuses the parameters of pages, which it does not have", async () => {
  await using world = await createWorld();
  const { url } = await world.serve();
  const { key } = await world.user();

  for (const query of ["limit=1", "cursor=abc", "limit=0"]) {
    expect(await ask(`${url}/v1/export?${query}`, { key })).toMatchObject({ status: 400 });
  }
});
