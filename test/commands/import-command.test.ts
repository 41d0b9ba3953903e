import { execFileSync } from "node:child_process";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { WriteStream } from "node:tty";
import { describe, expect, it, onTestFinished, vi } from "vitest";
import { suspendUser } from "../../src/features/accounts/index.js";
import { estimateSeconds, requestsFor, showDuration } from "../../src/import/estimate.js";
import { showProgress } from "../../src/import/progress.js";
import {
  RETRY,
  entity,
  fakeService,
  fileWith,
  importInto,
  jsonLines,
  memoriesOf,
  relation,
} from "../support/imports.js";
import { aFolder } from "../support/folder.js";
import { createWorld } from "../support/world.js";

const MARKER = { type: "_aim", source: "mcp-knowledge-graph" };

describe("an estimate", () => {
  const budget = { quota: 60, windowSeconds: 60, left: 10, resetSeconds: 20 };

  it.each([
    [10, 0.5],
    [11, 20],
    [70, 20],
    [71, 80],
    [10_000, 20 + 60 * 166],
    [requestsFor({ items: 5_000 }), 20 + 60 * 3],
    [requestsFor({ items: 5_000, bytes: 100_000_000, updates: 10 }), 20 + 60 * 16],
  ])(
    "holds: %d requests take %d seconds where 10 are left for 20 seconds and then 60 a minute",
    (requests, seconds) => {
      expect(estimateSeconds(requests, budget)).toBeCloseTo(seconds);
    },
  );

  it.each([
    [0, "a few seconds"],
    [61, "about 70 s"],
    [90, "about 2 min"],
    [9_980, "about 2.8 h"],
  ])("holds: %d s are %s in words", (seconds, words) => expect(showDuration(seconds)).toBe(words));
});

describe("progress", () => {
  /** What a stream shows of half an import, with a pause of twelve seconds in the middle. */
  function shownOn(stream: Pick<WriteStream, "isTTY" | "columns">): string[] {
    vi.useFakeTimers();
    onTestFinished(() => void vi.useRealTimers());
    const shown: string[] = [];
    const write = (text: string) => shown.push(text) > 0;
    {
      using progress = showProgress({
        total: 4,
        stream: { ...stream, write } as WriteStream,
        secondsLeft: (steps) => steps * 60,
      });
      progress.step();
      vi.advanceTimersByTime(5_000);
      progress.step();
      progress.pause(12, "rate limit reached");
      vi.advanceTimersByTime(5_000);
    }
    vi.advanceTimersByTime(60_000);
    return shown;
  }

  it("is one line on a terminal, without colour, and removed at the end", () => {
    const shown = shownOn({ isTTY: true, columns: 60 });

    expect(shown).toContain(`\r\u001b[K${"█".repeat(6)}${"░".repeat(18)} 1 of 4, about 3 min left`);
    expect(shown.at(-2)).toBe(`\r\u001b[K${"█".repeat(12)}${"░".repeat(12)} 2 of 4, about 2 min left, waiting `);
    expect(shown.at(-1)).toBe("\r\u001b[K");
    expect(shown.join("")).not.toMatch(/\n|\[\d+m/);
  });

  it("is a line every few seconds elsewhere, and one for each pause", () => {
    expect(shownOn({ isTTY: false, columns: 0 })).toEqual([
      "1 of 4 done, about 3 min left\n",
      "2 of 4 done, about 2 min left, waiting 12 s: rate limit reached\n",
    ]);
  });

  it("goes on beyond what was announced: counting an export's records ends somewhere", () => {
    const shown: string[] = [];
    const stream = { isTTY: true, columns: 80, write: (text: string) => shown.push(text) > 0 };
    vi.useFakeTimers();
    onTestFinished(() => void vi.useRealTimers());
    using progress = showProgress({ total: 4, stream: stream as unknown as WriteStream, secondsLeft: () => 0 });

    progress.step(5);
    vi.advanceTimersByTime(1_000);

    expect(shown.at(-1)).toBe(`\r\u001b[K${"█".repeat(24)} 5 of more than 4`);
  });

  it("leaves pauses out of the time per item that it measures, also while they last", () => {
    vi.useFakeTimers();
    onTestFinished(() => void vi.useRealTimers());
    const measured: Array<number | undefined> = [];
    using progress = showProgress({
      total: 40,
      stream: { isTTY: true, columns: 80, write: () => true } as unknown as WriteStream,
      secondsLeft: (_steps, each) => measured.push(each),
    });

    vi.advanceTimersByTime(10_000);
    progress.step(20);
    progress.pause(60, "rate limit reached");
    measured.length = 0;
    vi.advanceTimersByTime(60_000);

    expect(measured.length).toBeGreaterThan(0);
    for (const each of measured) expect(each).toBeCloseTo(0.5);
  });
});

describe("the command", () => {
  it("prints one JSON value and nothing else", async () => {
    await using world = await createWorld();
    const { url } = await world.serve();
    const ann = await world.user();
    const file = await fileWith(jsonLines(MARKER, ...RETRY, relation("Client", "uses", "Gone")));

    const said = await command([file, "--url", url, "--json"], ann.key);

    expect(said.exitCode).toBe(3);
    expect(said.out).toHaveLength(1);
    expect(JSON.parse(said.out[0] ?? "")).toEqual({
      complete: true,
      memories: { read: 2, created: 2, updated: 0, merged: 0, existing: 0, not_taken: 0 },
      relationships: { read: 2, created: 1, merged: 0, existing: 0, not_taken: 1 },
      others: { read: 1, ignored: 1, not_taken: 0 },
      parts_not_taken: 0,
      not_taken: [
        {
          kind: "relationship",
          what: 'relationship "Client" "uses" "Gone" (line 5)',
          reason: 'the file has no memory called "Gone": --create-missing creates one',
        },
      ],
      ignored: [
        {
          what: 'line 1: "{\\"type\\":\\"_aim\\",\\"source\\":\\"mcp-knowledge-graph\\"}"',
          reason: "it only marks the file, and contains no memory",
        },
      ],
      not_carried: {},
    });
  });

  it("exits with 3 when something is left out, and with 0 if that is allowed or nothing is left out", async () => {
    const file = await fileWith(jsonLines(...RETRY, relation("Client", "uses", "Gone")));
    const exitOf = async (...options: string[]) => (await command([file, "--dry-run", ...options], "")).exitCode;

    expect(await exitOf()).toBe(3);
    expect(await exitOf("--allow-partial")).toBeUndefined();
    expect(await exitOf("--create-missing")).toBeUndefined();
  });

  it("prints what it found and the estimated time before it starts, and the result at the end", async () => {
    await using world = await createWorld();
    const { url } = await world.serve();
    const ann = await world.user({ plan: "free" });
    const many = Array.from({ length: 100 }, (_, index) => entity(`Entity ${index}`, "x"));
    const file = await fileWith(jsonLines({ type: "_aim" }, ...many, ...RETRY, entity("Client", "x"), 7));

    // The URL comes from the environment, as the key does.
    const said = await command([file, "--dry-run"], ann.key, { environment: { MEMORY_GRAPH_URL: url } });

    expect(said.err[0]).toBe("Found 102 memories and 1 relationship. Reading the existing memories …");
    expect(said.err[1]).toBe("103 changes to make, which would take a few seconds.");
    expect(said.out[0]).toContain(`into ${url} would be:`);
    expect(said.out[0]).toContain(
      "103 read = 102 made + 0 updated + 0 already there + 1 merged as repeats + 0 left out",
    );
    expect(said.out[0]).toContain("2 read = 1 skipped + 1 left out");
    const alone = await command([file, "--dry-run"], "");
    expect(alone.err[0]).toContain(
      "into an empty graph, a few seconds on the plan free, a few seconds on the plan pro",
    );
  });

  it("changes nothing in a dry run, and says what would be done", async () => {
    await using world = await createWorld();
    const { url } = await world.serve();
    const ann = await world.user();
    await importInto(url, ann, jsonLines(...RETRY));
    const file = await fileWith(
      jsonLines(...RETRY, entity("Retry", "x", "more"), entity("New", "x"), relation("New", "uses", "Retry")),
    );

    const said = await command([file, "--url", url, "--dry-run", "--json"], ann.key);

    expect(JSON.parse(said.out.join(""))).toMatchObject({
      memories: { read: 4, created: 1, updated: 1, merged: 1, existing: 1 },
      relationships: { read: 2, created: 1, merged: 0, existing: 1 },
      not_taken: [],
    });
    expect(Object.keys(await memoriesOf(ann)).sort()).toEqual(["Client", "Retry"]);

    const alone = await command([file, "--dry-run"], "");
    expect(alone.out.join("")).toContain(
      "4 read = 3 made + 0 updated + 0 already there + 1 merged as repeats + 0 left out",
    );
  });

  it("shows twenty of the omitted items, and says how to see the others", async () => {
    const broken = Array.from({ length: 25 }, () => "not JSON").join("\n");
    const file = await fileWith(`${jsonLines(...RETRY)}\n${broken}`);

    const said = await command([file, "--dry-run"], "");

    const text = said.out.join("");
    expect(text).toContain('Left out: 25\n  line 4: "not JSON": it is not JSON\n');
    expect(text.match(/is not JSON/g)).toHaveLength(20);
    expect(text).toMatch(/--json lists all of them\.$/);
  });

  it.each([
    ["a file that is not there", { file: "/nowhere/memory.jsonl" }, "There is no such file: /nowhere/memory.jsonl"],
    ["a folder without notes", { file: "prisma/migrations" }, "There are no notes in /"],
    ["a device", { file: "/dev/null" }, '"/dev/null" is neither a file nor a folder.'],
    ["a file in another format", { text: "title,content" }, "There are no memories in /"],
    ["a note by itself", { file: "README.md" }, "README.md is a note. Give the folder that it is in."],
    ["a zip archive", { text: Buffer.from("PK\x03\x04\x14", "latin1") }, "is a zip archive. Unpack it"],
    ["a gzip file", { text: Buffer.from([0x1f, 0x8b, 0x08]) }, "is compressed by gzip. Unpack it"],
    ["a tar archive", { text: Buffer.from(`${"a".repeat(257)}ustar`) }, "is a tar archive. Unpack it"],
    ["a database", { text: Buffer.from("SQLite format 3\0") }, "is an SQLite database. Import what its program"],
    ["a file that is not text", { text: Buffer.from(`${jsonLines(...RETRY)}\xff`, "latin1") }, "is not text in UTF-8"],
    ["no key", { key: "" }, "An API key is needed: set MEMORY_GRAPH_KEY, or give --key."],
    ["a key that is none", { key: "schlüssel" }, "The service does not accept this API key."],
    ["an address where nobody listens", { url: "http://127.0.0.1:9" }, "http://127.0.0.1:9 does not answer"],
    ["the address for agents", { url: "http://127.0.0.1:9/below/mcp/" }, "http://127.0.0.1:9/below does not answer"],
  ])("says what to do about %s", async (_case, { file, text, key, url }: Wrong, message) => {
    const path = file ?? (await fileWith(text ?? jsonLines(...RETRY)));

    const said = await command([path, "--url", url ?? "http://127.0.0.1:9"], key ?? "some-key");

    expect(said.err.join("\n")).toContain(message);
    expect(said).toMatchObject({ exitCode: 1, out: [] });
  });

  it.each([
    ["notes.csv", "title,content\nDeploy,On Tuesdays.\n", "Write each row as a line of JSON, such as {"],
    ["Notes.ENEX", '<?xml version="1.0"?>\n<en-export></en-export>\n', "Convert it to Markdown notes"],
    ["notes.org", "* Deploy\n", "Convert it to Markdown notes"],
  ])("says how to convert %s, instead of what is wrong with each line", async (name, text, advice) => {
    const path = join(await aFolder(), name);
    await writeFile(path, text);

    const said = await command([path, "--dry-run"], "");

    expect(said).toMatchObject({ exitCode: 1, out: [], err: [expect.stringContaining(`${name}. ${advice}`)] });
    expect(said.err.join("\n")).not.toContain("it is not JSON");
  });

  it("says what to do about a pipe, and does not wait for it", async () => {
    const pipe = `${await fileWith("")}.pipe`;
    execFileSync("mkfifo", [pipe]);

    const said = await command([pipe, "--dry-run"], "");

    const message = `"${pipe}" is neither a file nor a folder. Write what it gives to a file, and import that.`;
    expect(said).toMatchObject({ exitCode: 1, out: [], err: [message] });
  });

  it("says what to do about an unknown key, and about a missing team", async () => {
    await using world = await createWorld();
    const { url } = await world.serve();
    const ann = await world.user();
    const file = await fileWith(jsonLines(...RETRY));

    const stranger = await command([file, "--url", url], "mg_live_unknown");
    expect(stranger).toMatchObject({ exitCode: 1, out: [] });
    expect(stranger.err.join("\n")).toMatch(/does not accept this API key.*\nNothing was imported\.$/);
    // On another machine the command would create a database, and a key for that one.
    expect(stranger.err.join("\n")).toMatch(/`POST \/signup` there.*`npm run user -- key .*but only where the service/);
    const loner = await command([file, "--url", url, "--graph", "team"], ann.key);
    expect(loner).toMatchObject({ exitCode: 1, out: [] });
    expect(loner.err.join("\n")).toContain("Leave out --graph");
    const other = await command([file, "--url", `${url}/elsewhere`], ann.key);
    expect(other).toMatchObject({ exitCode: 1, out: [] });
    const reader = await world.user({ scopes: ["memories:read"] });
    const readOnly = await command([file, "--url", url], reader.key);
    expect(readOnly.err.join("\n")).toContain("An import needs the scopes memories:read and memories:write.");
    await suspendUser(world.services, ann.email);
    const suspended = await command([file, "--url", url], ann.key);
    // No other key would help.
    expect(suspended.err.join("\n")).toMatch(/This account is suspended.*operator of this service\.\nNothing was/);
  });

  it("says how much was imported when it is interrupted", async () => {
    let posts = 0;
    const service = await fakeService((request) =>
      request.method === "GET" || ++posts === 1 ? undefined : { status: 429, headers: { "retry-after": "600" } },
    );
    const many = Array.from({ length: 600 }, (_, index) => entity(`Entity ${index}`, "x"));
    const file = await fileWith(jsonLines(...many));

    const said = await command([file, "--url", service.url, "--json"], "key", { ctrlC: true });

    expect([said.exitCode, said.isListening]).toEqual([130, true]);
    expect(JSON.parse(said.out.join(""))).toMatchObject({ complete: false, memories: { read: 600, created: 500 } });
    expect(said.err.join("\n")).toContain(
      "Stopped. Memories in the graph so far: 500; relationships: 0. A call without an answer",
    );
  });

  it.each([
    ["of notes", jsonLines(...RETRY)],
    [
      "of an export",
      jsonLines(
        { record: "graph", format: "memory-graph", memories: 1, relationships: 0 },
        { record: "memory" },
        { record: "end", memories: 1, relationships: 0 },
      ),
    ],
  ])("goes on in the graph in which it began when its user joins or leaves a team: an import %s", async (_of, text) => {
    const file = await fileWith(text);
    for (const graphs of [["personal"], ["personal", "team"]]) {
      const storage = graphs.map((graph) => ({ graph }));
      const restored = { memories: 1, existing_memories: 0 };
      const service = await fakeService(({ url = "" }) => {
        if (url.startsWith("/me")) return { status: 200, body: { storage } };
        return url.startsWith("/v1/memories/restore") ? { status: 200, body: restored } : undefined;
      });

      const said = await command([file, "--url", service.url], "key");

      expect(said.exitCode).toBeUndefined();
      const [first, ...others] = service.requests.map(({ url = "" }) => url);
      expect(first).toBe("/me");
      expect(others.length).toBeGreaterThan(0);
      for (const url of others) expect(url).toContain(`graph=${graphs.at(-1)}`);
    }
  });

  it.each(["GET", "POST"])(
    "stops when its user leaves the team into whose graph it goes, before a %s",
    async (last) => {
      const error = { code: "not_found", reason: "no_team", message: "You are in no team." };
      const { url } = await fakeService(({ url: path = "", method }) => {
        if (path === "/me") return { status: 200, body: { storage: [{ graph: "team" }] } };
        return method === last ? { status: 404, body: { error } } : undefined;
      });

      const said = await command([await fileWith(jsonLines(...RETRY)), "--url", url], "key");

      expect(said.exitCode).toBe(1);
      expect(said.err.join("\n")).toContain("You have left the team into whose graph this went");
      expect(said.err.join("\n")).not.toContain("continues from there");
    },
  );

  it("says that a call without an answer may have stored something, also of the first one", async () => {
    const busy = { status: 503, headers: { "retry-after": "0" } };
    const { url } = await fakeService(({ method }) => (method === "GET" ? undefined : busy));
    const file = await fileWith(jsonLines(...RETRY));

    const said = await command([file, "--url", url], "key");

    expect(said.exitCode).toBe(1);
    expect(said.err.join("\n")).toMatch(/many attempts .*\nMemories in the graph so far: 0; .* A call without an/);
  });

  it.each([
    [
      "is interrupted",
      true,
      130,
      /^Stopped\. Restored so far: 500 memories and 0 relationships\. A call without an answer/m,
    ],
    ["is refused", false, 1, /^Such a one is there\.\nRestored so far: 500 memories/m],
  ])("says how much of an export was restored when that %s", async (_what, isInterrupted, exitCode, message) => {
    let posts = 0;
    const service = await fakeService((request) => {
      if (request.method === "GET") return undefined;
      if (++posts === 1) return { status: 200, body: { memories: 500, existing_memories: 0 } };
      if (!isInterrupted)
        return { status: 409, body: { error: { code: "conflict", message: "Such a one is there." } } };
      return { status: 429, headers: { "retry-after": "600" } };
    });
    const begin = { record: "graph", format: "memory-graph", memories: 600, relationships: 0 };
    const file = await fileWith(jsonLines(begin, ...Array.from({ length: 600 }, () => ({ record: "memory" }))));

    const said = await command([file, "--url", service.url, "--json"], "key", { ctrlC: isInterrupted });

    expect([said.exitCode, said.isListening]).toEqual([exitCode, true]);
    expect(said.err.join("\n")).toMatch(message);
    expect(said.out.map((line) => JSON.parse(line) as object)).toEqual([
      {
        complete: false,
        memories: { restored: 500, existing: 0 },
        relationships: { restored: 0, existing: 0, skipped: 0 },
      },
    ]);
  });
});

interface Wrong {
  file?: string;
  text?: string | Buffer;
  key?: string;
  url?: string;
}

interface Wishes {
  environment?: Readonly<Record<string, string>>;
  /** Presses Ctrl-C as soon as the command waits because the service asked it to. */
  ctrlC?: boolean;
}

/** Runs the command in this process, with these arguments and this key in its environment. */
async function command(args: string[], key: string, { environment = {}, ctrlC = false }: Wishes = {}) {
  const out: unknown[] = [];
  const err: unknown[] = [];
  const before = process.rawListeners("SIGINT");
  // Raw: one that was added by `once` removes itself when it is called.
  const added = () => process.rawListeners("SIGINT").filter((one) => !before.includes(one)) as NodeJS.SignalsListener[];
  const press = () => added().forEach((listener) => listener("SIGINT"));
  const watchProgress = (text: unknown) => {
    // It waits from the next turn of the event loop on.
    if (ctrlC && String(text).includes("waiting 600 s")) setImmediate(press);
    return true;
  };
  for (const [name, value] of Object.entries({ MEMORY_GRAPH_KEY: key, ...environment })) vi.stubEnv(name, value);
  const spies = [
    vi.spyOn(console, "log").mockImplementation((line) => void out.push(line)),
    vi.spyOn(console, "error").mockImplementation((line) => void err.push(line)),
    vi.spyOn(process.stderr, "write").mockImplementation(watchProgress),
  ];
  try {
    const [{ program }, { exitCodeOf }, { sentenceFor }] = await Promise.all([
      import("../../src/commands/import.js"),
      import("../../src/commands/command-line.js"),
      import("../../src/commands/for-operator.js"),
    ]);
    await program.parseAsync(args, { from: "user" }).catch((error: unknown) => {
      console.error(sentenceFor(error));
      process.exitCode = exitCodeOf(error);
    });
    return { out: out.map(String), err: err.map(String), exitCode: process.exitCode, isListening: added().length > 0 };
  } finally {
    for (const listener of added()) process.off("SIGINT", listener);
    process.exitCode = undefined;
    vi.unstubAllEnvs();
    for (const spy of spies) spy.mockRestore();
  }
}
