import { spawn } from "node:child_process";
import { once } from "node:events";
import { text } from "node:stream/consumers";
import { expect, it } from "vitest";
import { environmentForProcess } from "../support/environment.js";
import { fakeService } from "../support/imports.js";
import { messageOf } from "../support/mcp.js";
import { endTogether, startTcpProxy } from "../support/tcp-proxy.js";
import { createWorld } from "../support/world.js";

interface Spoken {
  readonly id?: unknown;
  readonly error?: { readonly code: number; readonly message: string };
}

const NO_KEY = expect.stringMatching(/^The service does not accept this API key. Set MEMORY_GRAPH_KEY/) as string;
const NO_SERVER = expect.stringMatching(/^http:.* does not answer \([^)]+\). Start the service there/) as string;

/** What the program prints for these input lines. */
async function passLines(lines: readonly string[], environment: Readonly<Record<string, string>>) {
  const child = spawn(process.execPath, ["dist/commands/mcp.js"], {
    env: { ...environmentForProcess(), ...environment },
  });
  child.stdin.end(lines.map((line) => `${line}\n`).join(""));
  const [output, errors] = await Promise.all([text(child.stdout), text(child.stderr), once(child, "exit")]);
  const answers = output.trim().split("\n").filter(Boolean);
  return { code: child.exitCode, errors, answers: answers.map((line) => JSON.parse(line) as Spoken) };
}

it("forwards messages of every revision, and answers requests but no notifications", async () => {
  await using world = await createWorld();
  const { url } = await world.serve();
  const { key } = await world.user();
  const call = messageOf("tools/call", { name: "search_memories", arguments: { query: "a" } }).body;
  const lines = [
    JSON.stringify({ jsonrpc: "2.0", id: "old", method: "ping" }),
    JSON.stringify({ jsonrpc: "2.0", method: "notifications/initialized" }),
    JSON.stringify({ ...call, id: "new" }),
  ];

  const { code, errors, answers } = await passLines(lines, { MEMORY_GRAPH_URL: url, MEMORY_GRAPH_KEY: key });

  expect({ code, errors }).toEqual({ code: 0, errors: "" });
  expect(answers).toHaveLength(2);
  expect(answers).toContainEqual({ jsonrpc: "2.0", id: "old", result: {} });
  expect(answers).toContainEqual(
    expect.objectContaining({ id: "new", result: expect.objectContaining({ resultType: "complete" }) as object }),
  );
});

it("forwards names that no header can hold, and answers what it cannot forward", async () => {
  await using world = await createWorld();
  const { url } = await world.serve();
  const { key } = await world.user();
  const names = ["наме", " a ", "=?base64?YQ==?=", "search_memories\n"];
  const calls = names.map((name, id) => JSON.stringify({ ...messageOf("tools/call", { name }).body, id }));
  const method = JSON.stringify({ ...messageOf("метод").body, id: 4 });
  const empty = JSON.stringify({ jsonrpc: "2.0", id: 5, method: "ping", params: null });

  const { errors, answers } = await passLines([...calls, method, empty], {
    MEMORY_GRAPH_URL: url,
    MEMORY_GRAPH_KEY: key,
  });
  const wrongKey = await passLines([empty], { MEMORY_GRAPH_URL: url, MEMORY_GRAPH_KEY: "mg_live_…" });

  expect(errors).toBe("");
  const said = new Map(answers.map(({ id, error }) => [id, error?.message]));
  for (const [id, name] of names.entries()) expect(said.get(id)).toContain(`Unknown tool: ${name}`);
  expect(said.get(4)).toContain("There is no method `метод`");
  expect(said.get(5)).toContain("an object as `params`");
  expect(wrongKey.answers).toMatchObject([{ id: 5, error: { code: -32_603, message: NO_KEY } }]);
});

it("lets the server say what is wrong with a message whose headers cannot repeat it", async () => {
  await using world = await createWorld();
  const { url } = await world.serve();
  const { key } = await world.user();
  const { body } = messageOf("tools/call", { name: "search_memories" });
  const { _meta: meta } = body.params as { readonly _meta: object };
  const odd = { toString: 1 };
  const wrong = [
    { ...body, method: odd },
    { ...body, params: { ...body.params, name: odd } },
    ...[odd, "2026\n", "…"].map((version) => {
      const said = { ...meta, "io.modelcontextprotocol/protocolVersion": version };
      return { ...body, params: { ...body.params, _meta: said } };
    }),
  ];
  const lines = wrong.map((message, id) => JSON.stringify({ ...message, id }));

  const { errors, answers } = await passLines(lines, { MEMORY_GRAPH_URL: url, MEMORY_GRAPH_KEY: key });

  expect(errors).toBe("");
  const said = answers.toSorted((one, other) => Number(one.id) - Number(other.id)).map(({ error }) => error?.code);
  expect(said).toEqual([-32_600, -32_602, -32_602, -32_020, -32_020]);
});

it("finds a service below a path, with or without a slash at the end", async () => {
  const { url, requests } = await fakeService(() => ({ status: 200, body: { jsonrpc: "2.0", result: {} } }));
  const ping = JSON.stringify({ jsonrpc: "2.0", id: 7, method: "ping" });

  for (const end of ["", "/"]) await passLines([ping], { MEMORY_GRAPH_URL: `${url}/memory${end}` });

  expect(requests.map((request) => request.url)).toEqual(["/memory/mcp", "/memory/mcp"]);
});

it("answers requests also with a wrong key or without a server", async () => {
  await using world = await createWorld();
  const { url } = await world.serve();
  const ping = JSON.stringify({ jsonrpc: "2.0", id: 7, method: "ping" });

  const wrongKey = await passLines([ping], { MEMORY_GRAPH_URL: url, MEMORY_GRAPH_KEY: "mg_live_wrong" });
  const noServer = await passLines([ping], { MEMORY_GRAPH_URL: "http://127.0.0.1:1" });

  expect(wrongKey.answers).toMatchObject([{ id: 7, error: { message: NO_KEY } }]);
  expect(noServer.answers).toMatchObject([{ id: 7, error: { code: -32_603, message: NO_SERVER } }]);
});

it("says what is wrong with a line that is no message, skips blank ones, and goes on", async () => {
  await using world = await createWorld();
  const { url } = await world.serve();
  const { key } = await world.user();
  const ping = JSON.stringify({ jsonrpc: "2.0", id: 7, method: "ping" });

  const lines = ["{", "null", "5", `[${ping}]`, "", " ", ping];
  const { errors, answers } = await passLines(lines, { MEMORY_GRAPH_URL: url, MEMORY_GRAPH_KEY: key });

  expect(errors).toBe("");
  expect(answers).toHaveLength(5);
  expect(answers.filter(({ id }) => id === 7)).toMatchObject([{ result: {} }]);
  const codes = answers.filter(({ id }) => id === null).map(({ error }) => error?.code);
  expect(codes.toSorted()).toEqual([-32_600, -32_600, -32_600, -32_700]);
});

it("ends a message at LF alone, and not at another end of line within it or at the end of a piece", async () => {
  await using world = await createWorld();
  const { url } = await world.serve();
  const { key } = await world.user();
  const content = `one\u2028two\u2029three\u0085four ${"é".repeat(100_000)}`.slice(0, 50_000);
  const call = { name: "store_memory", arguments: { type: "general", title: "Pasted", content } };
  const store = JSON.stringify({ jsonrpc: "2.0", id: 1, method: "tools/call", params: call });
  const ping = JSON.stringify({ jsonrpc: "2.0", id: 2, method: "ping" });

  const lines = [store.replace(",", ",\r"), `${ping}\r`];
  const { errors, answers } = await passLines(lines, { MEMORY_GRAPH_URL: url, MEMORY_GRAPH_KEY: key });

  expect(errors).toBe("");
  expect(answers.toSorted((one, other) => Number(one.id) - Number(other.id))).toMatchObject([
    { id: 1, result: { structuredContent: { title: "Pasted" } } },
    { id: 2, result: {} },
  ]);
  const [stored] = await world.services.database.models.memory.findMany();
  expect(stored?.content).toBe(content);
});

it("answers a tool call that it cannot forward as a failed call, so that agents see why", async () => {
  await using world = await createWorld();
  const { url } = await world.serve();
  const modern = messageOf("tools/call", { name: "search_memories", arguments: { query: "a" } }).body;
  const { _meta, ...params } = modern.params as { readonly _meta: unknown };
  const lines = [JSON.stringify({ ...modern, id: 1 }), JSON.stringify({ ...modern, params, id: 2 })];
  const failed = (text: string) => ({ content: [{ type: "text", text }], isError: true });

  const wrongKey = await passLines(lines, { MEMORY_GRAPH_URL: url, MEMORY_GRAPH_KEY: "mg_live_wrong" });
  const noServer = await passLines(lines, { MEMORY_GRAPH_URL: "http://127.0.0.1:1" });

  for (const [{ answers }, text] of [
    [wrongKey, NO_KEY],
    [noServer, NO_SERVER],
  ] as const) {
    expect(answers).toContainEqual({ jsonrpc: "2.0", id: 1, result: { resultType: "complete", ...failed(text) } });
    expect(answers).toContainEqual({ jsonrpc: "2.0", id: 2, result: failed(text) });
  }
});

it.each([403, 503])("answers a tool call that the service refuses with %s as a failed call", async (status) => {
  const error = { code: -32_600, message: "Not now." };
  const { url } = await fakeService(() => ({ status, body: { jsonrpc: "2.0", id: 1, error } }));
  const call = { jsonrpc: "2.0", id: 1, method: "tools/call", params: { name: "search_memories" } };

  const { answers } = await passLines([JSON.stringify(call)], { MEMORY_GRAPH_URL: url });

  const content = [{ type: "text", text: `${url} answers: Not now.` }];
  expect(answers).toEqual([{ jsonrpc: "2.0", id: 1, result: { content, isError: true } }]);
});

it.each([
  [404, "<html>", "The server at $ is not this service (status 404). Check --url."],
  [502, "<html>", "$ cannot be reached now (status 502). Try again later."],
  [502, { error: { code: "busy", message: "Not now." } }, "$ answers: Not now."],
])("says what is there when another server answers with %s and %j", async (status, body, said) => {
  const { url } = await fakeService(() => ({ status, body }));
  const ping = JSON.stringify({ jsonrpc: "2.0", id: 7, method: "ping" });

  const { answers } = await passLines([ping], { MEMORY_GRAPH_URL: url });

  expect(answers).toMatchObject([{ id: 7, error: { message: said.replace("$", url) } }]);
});

it("names the address that a server redirects to", async () => {
  const { url, requests } = await fakeService(() => ({
    status: 301,
    headers: { location: "https://example.com/mcp" },
  }));

  const { answers } = await passLines(['{"jsonrpc":"2.0","id":1,"method":"ping"}'], { MEMORY_GRAPH_URL: url });

  const message = `${url} redirects to https://example.com. Give that address by --url.`;
  expect(answers).toEqual([{ jsonrpc: "2.0", id: 1, error: { code: -32_603, message } }]);
  expect(requests).toHaveLength(1);
});

it("repeats a call whose connection was lost, which then has one effect", async () => {
  await using world = await createWorld();
  const { url } = await world.serve();
  const ann = await world.user();
  let connections = 0;
  let isDown = false;
  // As while it is restarted.
  const beDownForAMoment = () => {
    isDown = true;
    setTimeout(() => (isDown = false), 50);
  };
  await using proxy = await startTcpProxy(url, (near, far) => {
    const isFirst = connections++ === 0;
    endTogether(near, far);
    if (isDown) return void near.destroy();
    near.pipe(far);
    if (!isFirst) return void far.pipe(near);
    // The service has answered, so it has stored the memory.
    far.once("data", () => {
      beDownForAMoment();
      near.destroy();
    });
  });
  const memory = { type: "fact", title: "Once", content: "However often it is sent." };
  const call = JSON.stringify({ ...messageOf("tools/call", { name: "store_memory", arguments: memory }).body, id: 1 });

  const { errors, answers } = await passLines([call], {
    MEMORY_GRAPH_URL: proxy.url.replace(/\/$/, ""),
    MEMORY_GRAPH_KEY: ann.key,
  });

  expect({ errors, connections }).toEqual({ errors: "", connections: 2 });
  expect(answers).toMatchObject([{ id: 1, result: { structuredContent: { title: "Once" } } }]);
  expect(await world.database.models.memory.count()).toBe(1);
});
