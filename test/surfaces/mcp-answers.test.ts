import { expect, it } from "vitest";
import { LIMITS } from "../../src/limits.js";
import { NIL_ID } from "../../src/operation/id.js";
import { leaveTeam } from "../../src/features/teams/leave-team.js";
import { withLimits } from "../support/limits.js";
import { anAgent, askMcp, callTool } from "../support/mcp.js";
import { aLink, aMemory, manyMemories, memoriesTitled } from "../support/memories.js";
import { operationNamed } from "../support/operations.js";
import { aTeam } from "../support/teams.js";
import { createWorld } from "../support/world.js";

const { answerBytes } = LIMITS.mcp;
const createMemory = operationNamed("createMemory");
const createRelationship = operationNamed("createRelationship");

interface Answer {
  readonly id: string;
  readonly content: string;
  readonly truncated?: boolean;
  readonly hint?: string;
  readonly memories: ReadonlyArray<{ id: string; title: string; summary?: string; snippet: string; tags: string[] }>;
  readonly total: number;
}

it("cuts a long content, says where, and returns the rest to the call that the hint names", async () => {
  await using world = await createWorld();
  const { url } = await world.serve();
  const ann = await world.user();
  const content = Array.from({ length: 4_000 }, (_, n) => `\u{1F600} "${n}" é\n`).join("");
  const { id } = await ann.did<object, { id?: string }>(createMemory, { type: "general", title: "Long", content });

  const parts: string[] = [];
  let from = 0;
  for (let call = 0; call < 20; call++) {
    const { answer, bytes } = await callTool(url, ann.key, "get_memory", { id, content_from: from });
    const { content: part, truncated, hint } = answer as unknown as Answer;
    expect(bytes).toBeLessThanOrEqual(answerBytes);
    const cut = /… \[cut at character (\d+) of (\d+)\]$/.exec(part);
    parts.push(part.slice(0, cut?.index));
    if (!cut) break;
    expect([truncated, hint]).toEqual([true, expect.stringContaining("get_memory with content_from") as string]);
    expect(Number(cut[2])).toBe(content.length);
    expect(Number(cut[1])).toBeGreaterThan(from);
    from = Number(cut[1]);
  }
  expect(parts.length).toBeGreaterThan(2);
  expect(parts.join("")).toBe(content);
  expect(world.bugs).toEqual([]);
});

it("cuts the long context of a relationship, and returns the rest to the call that the hint names", async () => {
  await using world = await createWorld();
  const { url } = await world.serve();
  const ann = await world.user();
  const fix = await aMemory(ann, { title: "Fix" });
  const bug = await aMemory(ann, { title: "Bug" });
  const context = Array.from({ length: 1_000 }, (_, n) => `\u{1F600} "${n}"\n`)
    .join("")
    .slice(0, 9_999);
  await aLink(ann, fix, bug, { relationshipType: "SOLVES", context });
  await aLink(ann, bug, fix, { relationshipType: "CAUSES", context: "Briefly." });
  for (const [tool, types] of [["get_memory"], ["get_related_memories", ["SOLVES"]]] as const) {
    const { answer } = await callTool(url, ann.key, tool, { id: fix.id, types });
    expect(answer["hint"]).toContain("find_path between");
  }

  const parts: string[] = [];
  for (let at = 0, isCut = true; isCut && parts.length < 20;) {
    const asked = { from_memory_id: fix.id, to_memory_id: bug.id, types: ["SOLVES"], context_from: at };
    const { answer, bytes } = await callTool(url, ann.key, "find_path", asked);
    expect(bytes).toBeLessThanOrEqual(answerBytes);
    const { steps, hint } = answer as { steps: ReadonlyArray<{ context?: string }>; hint?: string };
    const part = steps.map((step) => step.context ?? "").join("");
    const cut = /… \[cut at character (\d+) of (\d+)\]$/.exec(part);
    parts.push(part.slice(0, cut?.index));
    isCut = cut !== null;
    if (isCut) expect(hint).toContain("context_from: the character at which it was cut");
    if (at > 0)
      expect(hint).toContain(`This is the context from character ${at} of ${context.length} on, not the whole.`);
    expect(Number(cut?.[1] ?? Infinity)).toBeGreaterThan(at);
    expect(Number(cut?.[2] ?? context.length)).toBe(context.length);
    at = Number(cut?.[1]);
  }
  expect(parts.length).toBeGreaterThan(2);
  expect(parts.join("")).toBe(context);
  const beyond = { from_memory_id: fix.id, to_memory_id: bug.id, types: ["CAUSES"], context_from: 8 };
  const { answer } = await callTool(url, ann.key, "find_path", beyond);
  expect(answer["hint"]).toBe(
    "The context has only 8 characters: leave out context_from to read it from the beginning.",
  );
  expect(world.bugs).toEqual([]);
});

it("says if a stored memory was not compared with others, for then no similar ones mean nothing", async () => {
  using _patient = withLimits("similar", { waitMs: 60_000 });
  await using world = await createWorld();
  const { url } = await world.serve();
  const [ann, writer] = [await world.user(), await world.user({ scopes: ["memories:write"] })];
  const hintFor = async ({ key }: { key: string }, type: string) =>
    (await callTool(url, key, "store_memory", { type, title: "A", content: "B" })).answer["hint"];

  const unknown = expect.stringContaining("whether a similar memory exists is unknown") as string;
  expect(await hintFor(writer, "problem")).toEqual(unknown);
  expect(await hintFor(writer, "bug")).toMatch(/^The well-known type is .* unknown\.$/);
  expect(await hintFor(ann, "problem")).toBeUndefined();
});

it.each([
  ["a long text", { text: "words ".repeat(2_500) }],
  ["a text in a list", { list: [{ text: "words ".repeat(2_500) }] }],
  ["many fields", Object.fromEntries(Array.from({ length: 500 }, (_, at) => [`field_${at}`, "words of it"]))],
])("refuses a context of which %s was cut in an answer", async (_what, context) => {
  await using world = await createWorld();
  const { url } = await world.serve();
  const ann = await world.user();
  const note = { type: "general", title: "A note", content: "Something." };
  const { id } = await ann.did<object, { id?: string }>(createMemory, { ...note, context });
  const { answer: read } = await callTool(url, ann.key, "get_memory", { id });

  const { isError, answer } = await callTool(url, ann.key, "store_memory", { ...note, context: read["context"] });

  expect([isError, answer]).toMatchObject([
    true,
    { error: { message: expect.stringMatching(/^context: .*cut/) as string } },
  ]);
});

it.each([
  ["", "\n"],
  ["", "\n\nAdded: call Jens first."],
  ["Updated. ", " And more."],
])("refuses a text that was cut in an answer, with %j before it and %j behind it", async (before, behind) => {
  await using world = await createWorld();
  const { url } = await world.serve();
  const ann = await world.user();
  const content = "words ".repeat(5_000);
  const { id } = await ann.did<object, { id?: string }>(createMemory, { type: "general", title: "Long", content });
  const { answer: read } = await callTool(url, ann.key, "get_memory", { id });

  const { isError, answer } = await callTool(url, ann.key, "update_memory", {
    id,
    content: `${before}${String(read["content"])}${behind}`,
  });

  expect(isError).toBe(true);
  expect(answer).toMatchObject({
    error: {
      code: "bad_request",
      message:
        "content: contains the note that an answer was cut there: read the rest first, and send the whole, or leave it out",
    },
  });
  const kept = await callTool(url, ann.key, "get_memory", { id });
  expect(kept.answer["version"]).toBe(1);
});

it("never refers agents to routes, which they cannot call", async () => {
  await using world = await createWorld();
  const { url } = await world.serve();
  const ann = await world.user();
  const store = async (title: string) =>
    (await ann.did<object, { id?: string }>(createMemory, { type: "general", title, content: "x" })).id;
  const link = { from_memory_id: await store("A"), to_memory_id: await store("B"), relationship_type: "SOLVES" };
  await callTool(url, ann.key, "create_relationship", link);

  const again = await callTool(url, ann.key, "create_relationship", link);
  const team = await callTool(url, ann.key, "search_memories", { query: "a", graph: "team" });

  expect(again.answer).toMatchObject({
    error: {
      message:
        "These two memories already have a relationship of this type, so there is nothing to do; its id is in the details.",
    },
  });
  expect(team.answer).toMatchObject({
    error: { message: "You are in no team, so there is no team graph. If you set `graph`, leave it out." },
  });
});

it("keeps null within a client's own context, and has no field of its own that is null", async () => {
  await using world = await createWorld();
  const { url } = await world.serve();
  const ann = await world.user();
  const context = { a: null, list: [null, { b: null }] };
  const said = { type: "general", title: "A title", content: "Some content." };
  const stored = await callTool(url, ann.key, "store_memory", { ...said, context });

  const { answer } = await callTool(url, ann.key, "get_memory", { id: stored.answer["id"] });

  expect(answer).toMatchObject({ ...said, context });
  expect(Object.entries(answer).filter(([, value]) => value === null)).toEqual([]);
  expect(answer).not.toHaveProperty("summary");
});

it("cuts a context of a thousand keys, and leaves room to read the content", async () => {
  await using world = await createWorld();
  const { url } = await world.serve();
  const ann = await world.user();
  const content = "word ".repeat(6_000).trimEnd();
  const context = Object.fromEntries(Array.from({ length: 1_100 }, (_, n) => [`key${n}`, n]));
  const { id } = await ann.did<object, { id?: string }>(createMemory, {
    type: "general",
    title: "Long",
    content,
    context,
  });

  let read = "";
  for (let call = 0; read.length < content.length && call < 20; call++) {
    const { answer, bytes } = await callTool(url, ann.key, "get_memory", { id, content_from: read.length });
    expect(bytes).toBeLessThanOrEqual(answerBytes);
    expect(answer["context"]).toMatchObject({ key0: 0, "…": expect.stringMatching(/^\d+ more fields$/) as string });
    read += String(answer["content"]).replace(/… \[cut at .*\]$/, "");
  }
  expect(read).toBe(content);
  expect(world.bugs).toEqual([]);
});

it("cuts a list of hits, and returns the others to the call that the hint names", async () => {
  await using world = await createWorld();
  const { url } = await world.serve();
  const ann = await world.user();
  const titles = Array.from({ length: 20 }, (_, n) => `Backoff ${n}`);
  for (const title of titles) {
    const long = {
      summary: `${title}. ${"s".repeat(900)}`,
      content: `${"word ".repeat(500)}backoff`,
      tags: ["retry", title],
    };
    await ann.did(createMemory, { type: "solution", title, ...long });
  }

  const found: Answer["memories"][number][] = [];
  let calls = 0;
  for (;;) {
    const { answer, bytes } = await callTool(url, ann.key, "search_memories", {
      query: "backoff",
      offset: found.length,
    });
    const { memories, total, truncated, hint } = answer as unknown as Answer;
    calls++;
    expect(bytes).toBeLessThanOrEqual(answerBytes);
    expect(total).toBe(titles.length);
    found.push(...memories);
    if (!truncated) break;
    expect(hint).toContain("search_memories with offset");
    expect(memories.length).toBeGreaterThan(2);
  }
  expect(calls).toBeGreaterThan(1);
  expect(found.map(({ title }) => title).toSorted()).toEqual(titles.toSorted());
  for (const { summary, snippet, tags } of found) {
    expect(summary).toMatch(/^Backoff \d+\. s+/);
    expect(snippet).toContain("backoff");
    expect(snippet.length).toBeLessThanOrEqual(300);
    expect(tags).toContain("retry");
  }
  expect(world.bugs).toEqual([]);
});

it("leaves out the ids of relationships, which no tool takes, so that forty of them fit with the content", async () => {
  await using world = await createWorld();
  const { url } = await world.serve();
  const ann = await world.user();
  const start = await aMemory(ann, { title: "Start", content: "word ".repeat(200).trimEnd() });
  for (let n = 0; n < 41; n++) await aLink(ann, start, await aMemory(ann, { title: `One of many notes ${n}` }));

  const { answer } = await callTool(url, ann.key, "get_memory", { id: start.id });

  expect(answer).not.toHaveProperty("truncated");
  const { relationships } = answer as { relationships?: object[] };
  expect(relationships).toHaveLength(41);
  expect(Object.keys(relationships?.[0] ?? {})).toEqual(["type", "direction", "memory", "strength"]);
});

it("says that there are more related memories only when the limit was reached", async () => {
  await using world = await createWorld();
  const { url } = await world.serve();
  const ann = await world.user();
  const [start, ...others] = await memoriesTitled(ann, "Start", "One", "Two", "Three");
  for (const other of others) await aLink(ann, start, other);
  const walk = (limit: number) => callTool(url, ann.key, "get_related_memories", { id: start.id, limit });

  const { answer: part } = await walk(2);
  expect(part["memories"]).toHaveLength(2);
  expect(part).toMatchObject({ truncated: true, hint: expect.stringContaining("More can be reached.") as string });
  const { answer: all } = await walk(3);
  expect(Object.keys(all)).toEqual(["memories"]);
  expect(all["memories"]).toHaveLength(3);
});

it("shows a relationship's own text, and the memory through which it was reached, if there is one", async () => {
  await using world = await createWorld();
  const { url } = await world.serve();
  const ann = await world.user();
  const [start, near, far] = await memoriesTitled(ann, "Start", "Near", "Far");
  const context = "Since Tuesday.";
  await aLink(ann, start, near);
  await aLink(ann, near, far, { context });
  const call = async (name: string, args: object) => (await callTool(url, ann.key, name, args)).answer;

  const walk = await call("get_related_memories", { id: start.id, max_depth: 2 });
  const reached = { relationship: "RELATED_TO", direction: "out" };
  expect(walk["memories"]).toEqual([
    { ...headOf(near), ...reached, depth: 1, strength: 0.5 },
    { ...headOf(far), ...reached, depth: 2, via_memory_id: near.id, strength: 0.5, link: { context } },
  ]);
  const { relationships } = (await call("get_memory", { id: near.id })) as { relationships?: object[] };
  expect(relationships?.map((one) => ({ context: undefined, ...one }).context)).toEqual([context, undefined]);
  const { steps } = (await call("find_path", { from_memory_id: start.id, to_memory_id: far.id })) as {
    steps?: object[];
  };
  expect(steps).toMatchObject([headOf(start), headOf(near), { ...headOf(far), context }]);
  expect(JSON.stringify([walk, relationships, steps]).split(context)).toHaveLength(4);
});

it("says what to try when nothing is found, and only then", async () => {
  await using world = await createWorld();
  const { ann, call } = await anAgent(world);
  expect((await call("get_recent_activity"))["hint"]).toContain("more days");
  expect((await call("get_recent_activity", { days: 365 }))["hint"]).toBe(
    "Nothing was stored or changed in a year, except maybe what has expired. search_memories also finds older ones.",
  );
  const last = { days: 365, project: "/app" };
  expect((await call("get_recent_activity", last))["hint"]).toBe(
    "Nothing with the given project: try without. search_memories also finds older ones.",
  );

  const [one, two, apart] = await memoriesTitled(ann, "One", "Two", "Apart");
  await aLink(ann, one, two);
  const walk = (types: string[]) => call("get_related_memories", { id: one.id, types });
  const path = ({ id }: { id: string }, wishes: object = {}) =>
    call("find_path", { from_memory_id: one.id, to_memory_id: id, ...wishes });
  expect(await walk(["RELATD_TO"])).toEqual({ memories: [], hint: expect.stringContaining("no types") as string });
  expect((await call("get_related_memories", { id: apart.id }))["hint"]).toContain("It has no relationships");
  expect(await path(apart)).toMatchObject({ steps: [], hint: expect.stringContaining("Try max_depth 10.") as string });
  expect(await path(apart, { types: ["SOLVES"], direction: "in", max_depth: 10 })).toMatchObject({
    hint: expect.stringContaining("Try direction any, no types.") as string,
  });
  expect((await path(apart, { direction: "any", max_depth: 10 }))["hint"]).not.toContain("Try");
  expect((await call("search_memories", { query: "nowhere" }))["hint"]).toContain("other or fewer");

  for (const found of [
    await walk(["RELATED_TO"]),
    await path(two),
    await call("search_memories", { query: "apart" }),
    await call("get_recent_activity", { days: 365 }),
  ]) {
    expect(found).not.toHaveProperty("hint");
  }
});

it("says which filters excluded everything, and names the caller's other graph if there is one", async () => {
  await using world = await createWorld();
  const { url } = await world.serve();
  const { owner: bob } = await aTeam(world);
  const ann = await world.user();
  await aMemory(bob, { title: "Needle", graph: "personal" });
  const hint = async (key: string, name: string, args: object) =>
    String((await callTool(url, key, name, args)).answer["hint"]);

  const narrowed = { query: "needle", project: "/app", types: ["problem"] };
  expect(await hint(ann.key, "search_memories", narrowed)).toMatch(
    /^Nothing with the given types and project: try without\./,
  );
  expect(await hint(ann.key, "get_recent_activity", { types: ["problem"] })).toBe(
    "Nothing with the given types: try without. Ask for more days, up to 365. Or call search_memories.",
  );
  expect(await hint(ann.key, "search_memories", { query: "needle" })).not.toMatch(/without|graph/);
  expect(await hint(bob.key, "search_memories", { query: "needle" })).toContain("the team graph: try graph personal");
  const { answer } = await callTool(url, bob.key, "search_memories", { query: "needle", graph: "personal" });
  expect(answer).toMatchObject({ memories: [{ title: "Needle" }] });
  const elsewhere = { query: "nowhere", graph: "personal" };
  expect(await hint(bob.key, "search_memories", elsewhere)).toContain("the personal graph: try graph team");
});

it("says where a memory was looked for in vain, and where else it may be", async () => {
  await using world = await createWorld();
  const { url } = await world.serve();
  const { member: bob } = await aTeam(world);
  const ann = await world.user();
  const own = await aMemory(bob, { graph: "personal" });
  const shared = await aMemory(bob);
  const said = async (key: string, name: string, args: object) =>
    ((await callTool(url, key, name, args)).answer as { error: { message: string } }).error.message;

  const inTeam = "This looked in the team graph: try graph personal, too.";
  expect(await said(bob.key, "get_memory", { id: own.id })).toContain(inTeam);
  expect(await said(bob.key, "update_memory", { memory_id: own.id, title: "A", graph: "Team" })).toContain(inTeam);
  expect(await said(bob.key, "get_memory", { id: shared.id, graph: "personal" })).toContain(
    "This looked in the personal graph: try graph team, too.",
  );
  const link = { from_memory_id: own.id, to_memory_id: shared.id, relationship_type: "RELATED_TO" };
  expect(await said(bob.key, "create_relationship", link)).toContain(
    "This looked in the team graph: no relationship leads to the personal one.",
  );
  expect(await said(ann.key, "get_memory", { id: shared.id })).toContain(
    "This looked in the personal graph, the only one: you are in no team.",
  );
  expect(await said(ann.key, "search_memories", { query: "a", graph: "team" })).not.toContain("looked in");
});

it("asks for a whole id where only a part of one, or something else, was given", async () => {
  await using world = await createWorld();
  const { url } = await world.serve();
  const ann = await world.user();
  const { id } = await aMemory(ann);
  const said = async (name: string, args: object) =>
    ((await callTool(url, ann.key, name, args)).answer as { error: { message: string } }).error.message;
  const advice = "Give the whole id, as answers have it.";

  for (const part of [id.slice(0, 8), `memory:${id}`, "A title"]) {
    expect(await said("get_memory", { id: part })).toContain(advice);
    const link = { from_memory_id: id, to_memory_id: part, relationship_type: "RELATED_TO" };
    expect(await said("create_relationship", link)).toContain(advice);
  }
  expect(await said("get_memory", { id: NIL_ID })).not.toContain(advice);
});

it("does not send an agent to the other graph for relationships of a memory of this one", async () => {
  await using world = await createWorld();
  const { url } = await world.serve();
  const { member: bob } = await aTeam(world);
  const { id } = await aMemory(bob);

  const { answer } = await callTool(url, bob.key, "get_related_memories", { id });

  expect(answer["hint"]).toMatch(/^It has no relationships/);
  expect(answer["hint"]).not.toContain("graph");
});

it("says in answers to changes which graph was changed, also after the user has left the team", async () => {
  await using world = await createWorld();
  const { url } = await world.serve();
  const { member: bob, teamId } = await aTeam(world);
  const call = async (name: string, args: object) => (await callTool(url, bob.key, name, args)).answer;
  const note = { type: "decision", title: "A", content: "x" };

  const { id, graph } = await call("store_memory", note);
  expect(graph).toBe("team");
  expect(await call("store_memory", { ...note, graph: "Personal" })).toMatchObject({ graph: "personal" });
  expect(await call("update_memory", { id, title: "B" })).toMatchObject({ graph: "team" });
  expect(await call("delete_memory", { id })).toEqual({ id, graph: "team" });
  await bob.did(leaveTeam, { teamId });
  expect(await call("store_memory", note)).toMatchObject({ graph: "personal" });
});

it("shows ten hits by default", async () => {
  await using world = await createWorld();
  const { url } = await world.serve();
  const ann = await world.user();
  await manyMemories(world, ann, 30, "A needle.");
  const hits = async (args: object) =>
    (await callTool(url, ann.key, "search_memories", { query: "needle", ...args })).answer;

  const { memories, total } = await hits({});
  expect([memories, total]).toEqual([expect.objectContaining({ length: 10 }), 30]);
  expect((await hits({ limit: 20 }))["memories"]).toHaveLength(20);
});

it("says whether the total is of all hits", async () => {
  await using world = await createWorld();
  const { url } = await world.serve();
  const ann = await world.user();
  await manyMemories(world, ann, 1_000, "A needle.");
  const totals = async () => {
    const { answer } = await callTool(url, ann.key, "search_memories", { query: "needle", limit: 1 });
    return [answer["total"], answer["total_is_capped"]];
  };

  expect(await totals()).toEqual([1_000, false]);
  await aMemory(ann, { title: "One more needle" });
  expect(await totals()).toEqual([1_000, true]);
});

it("keeps within the bound for the largest possible memories, and says how to get what is cut", async () => {
  await using world = await createWorld();
  const { url } = await world.serve();
  const ann = await world.user();
  const wide = "\u{1F600}";
  const largest = {
    type: "problem",
    title: wide.repeat(500),
    content: `find ${"\u0001".repeat(49_000)}`,
    summary: "\u0001".repeat(1_000),
    tags: Array.from({ length: 50 }, (_, n) => `${n}${wide.repeat(98)}`),
    context: { project_path: "p".repeat(15_000) },
  };
  const ids: string[] = [];
  for (let n = 0; n < 12; n++) {
    ids.push((await ann.did<object, { id?: string }>(createMemory, largest)).id ?? "");
    if (n > 0) {
      const link = { fromMemoryId: ids[n], toMemoryId: ids[0], relationshipType: "SOLVES" };
      await ann.did(createRelationship, { ...link, context: "c".repeat(1_000) });
    }
  }
  const [id, from_memory_id, other] = ids;
  const linked = { from_memory_id, to_memory_id: id };
  const calls = {
    search_memories: { query: "find unknown" },
    get_memory: { id },
    get_related_memories: { id },
    get_recent_activity: {},
    find_path: { from_memory_id, to_memory_id: other },
    create_relationship: { ...linked, relationship_type: "CAUSES", context: wide.repeat(10_000) },
    update_memory: { id, tags: largest.tags },
    store_memory: largest,
  };
  for (const [name, args] of Object.entries(calls)) {
    const { isError, bytes, answer } = await callTool(url, ann.key, name, args);
    expect([name, isError, answer["truncated"]]).toEqual([name, false, true]);
    expect([name, answer["hint"]]).toEqual([name, expect.stringMatching(/\w/) as string]);
    expect(bytes, name).toBeLessThanOrEqual(answerBytes);
    // No list is dropped as a whole: of each there is at least one item.
    for (const list of Object.values(answer).filter((part) => Array.isArray(part)))
      expect(list.length).toBeGreaterThan(0);
  }
  expect(world.bugs).toEqual([]);
});

it.each([
  ["search_memories", { query: "x", limit: 0 }, "limit: must be from 1 to 20"],
  ["search_memories", { query: "x", limit: 1_000 }, "limit: must be from 1 to 20"],
  ["search_memories", { query: "x", limit: "five" }, "limit: must be a whole number"],
  ["search_memories", { query: "x", limit: 3_000_000_000 }, "limit: must be from 1 to 20"],
  ["get_related_memories", { id: "x", limit: 31 }, "limit: must be from 1 to 30"],
])("says of a call of %s with %j once what is wrong, with the tool's own limits", async (name, args, message) => {
  await using world = await createWorld();
  const { url } = await world.serve();
  const ann = await world.user();

  const { answer } = await callTool(url, ann.key, name, args);

  expect(answer).toEqual({ error: { code: "bad_request", message } });
});

it("says which of two ids is unknown", async () => {
  await using world = await createWorld();
  const { url } = await world.serve();
  const ann = await world.user();
  const { id } = await ann.did<object, { id?: string }>(createMemory, { type: "general", title: "A", content: "x" });
  const link = { from_memory_id: id, to_memory_id: 'The "title"', relationship_type: "SOLVES" };

  const { answer } = await callTool(url, ann.key, "create_relationship", link);

  expect(answer).toMatchObject({
    error: {
      message: expect.stringContaining("the id that the relationship leads to") as string,
      details: { path: "to_memory_id" },
    },
  });
});

const headOf = ({ id, type, title }: { id: string; type: string; title: string }) => ({ id, type, title });

it("needs to cut no refusal, however much is wrong", async () => {
  await using world = await createWorld();
  const { url } = await world.serve();
  const { key } = await world.user();
  // JSON writes each of these characters in six.
  const odd = "\u0001".repeat(LIMITS.refusal.pathLength / 2);
  const listed = await askMcp(url, key, "tools/list");
  const tools = listed.body.result?.["tools"] as { name: string; inputSchema: { properties: object } }[];

  const wide = "漢".repeat(LIMITS.refusal.pathLength - 2);
  const unknown = Object.fromEntries(
    [odd, wide].flatMap((text) =>
      Array.from({ length: LIMITS.refusal.issues }, (_, number) => [`${number}${text}`, 1]),
    ),
  );

  const lengths: number[] = [];
  for (const { name, inputSchema } of tools) {
    for (const wrong of [
      odd,
      { [odd]: odd },
      Array.from({ length: LIMITS.refusal.issues }, () => 1),
      "… [cut at character 1 of 2]",
    ]) {
      const args = Object.fromEntries(Object.keys(inputSchema.properties).map((input) => [input, wrong]));
      const { isError, bytes } = await callTool(url, key, name, { ...args, ...unknown });
      expect(isError).toBe(true);
      lengths.push(bytes);
    }
  }

  expect(Math.max(...lengths)).toBeLessThanOrEqual(answerBytes);
});
