import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { text } from "node:stream/consumers";
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import { program } from "../../src/commands/tour.js";
import { type Door, restDoor } from "../../src/commands/tour/doors.js";
import { Guide } from "../../src/commands/tour/guide.js";
import { walkBilling } from "../../src/commands/tour/walk-billing.js";
import type { TourUsers } from "../../src/commands/tour/walk-team.js";
import { AGENTS_URL, AGENT_CLIENTS } from "../../src/surfaces/pages/agent-clients.js";
import { runHere } from "../support/commands.js";
import { ask } from "../support/http.js";
import { fakeService } from "../support/imports.js";
import { type ServerProcess, startServerProcess } from "../support/server-process.js";
import { type World, createWorld } from "../support/world.js";
import { environmentForProcess } from "../support/environment.js";

const README = readFileSync("README.md", "utf8");
const WIDTH_MAX = 100;

interface Output {
  readonly code: number | null;
  readonly output: string;
  readonly errors: string;
}

describe("beside one server", () => {
  let world: World;
  let clone: Clone;
  let server: ServerProcess;
  let folder: string;
  beforeAll(async () => {
    world = await createWorld();
    clone = await startForDevelopers(world.databaseUrl);
    ({ server, folder } = clone);
  });
  afterAll(async () => {
    await clone[Symbol.asyncDispose]();
    await world[Symbol.asyncDispose]();
  });

  it("runs at both doors, twice in a row, and every step gets the expected answer", async () => {
    const options = ["--url", server.url, "--data-dir", join(folder, ".data")];

    const told = await run(process.execPath, ["dist/commands/tour.js", ...options]);
    const again = await run(process.execPath, ["dist/commands/tour.js", ...options, "--json"]);

    expect(told).toMatchObject({ code: 0, errors: "" });
    expect(again).toMatchObject({ code: 0, errors: "" });
    const { walks } = JSON.parse(again.output) as { walks: { door: string; steps: { title: string }[] }[] };
    expect(walks.map(({ door, steps }) => [door, steps.length])).toEqual([
      ["rest", 38],
      ["graphql", 38],
    ]);
    for (const { title } of walks.flatMap(({ steps }) => steps)) {
      // Each run uses addresses of its own.
      expect(told.output).toContain(title.replace(/\.\w+@example\.com$/, "."));
    }
    expect(told.output).toMatch(/All 76 steps were answered as expected\.\n$/);
    expect(told.output).not.toContain("\u001b");
    const tooWide = told.output
      .split("\n")
      .filter((line) => line.length > WIDTH_MAX && !/https?:|in \/|"message"/.test(line));
    expect(tooWide).toEqual([]);
  });

  it("lets each request that it shows be pasted into a shell", async () => {
    const options = ["--url", server.url, "--data-dir", join(folder, ".data"), "--only", "graph", "--door", "rest"];
    const { output } = await run(process.execPath, ["dist/commands/tour.js", ...options]);

    const requests = Array.from(output.matchAll(/^ {3}(curl [^]*?)\n {3}\d{3}$/gm), ([, request = ""]) => request);
    const key = /^ {3}(KEY=.*)$/m.exec(output)?.[1] ?? "";
    const pasted = await run("bash", ["-c", [key, ...requests.slice(0, 2)].join("\n")], { cwd: folder });

    expect(requests.length).toBe(11);
    expect(pasted).toMatchObject({ code: 0, errors: "" });
    expect(pasted.output).toContain('"title":"Payments time out"');
    expect(pasted.output).toContain('"title":"Retry with backoff"');
  });

  it("prints addresses for new users in short lines, with a request that can be pasted", async () => {
    const [printed = ""] = /\n {2}Memory Graph Gateway[^]*Ctrl-C stops the service\.\n/.exec(server.printed()) ?? [];

    const pages = Array.from(printed.matchAll(/http:\S+(?= {2})/g), ([url]) => url);
    const [request = ""] = /curl [^]*?\}'/.exec(printed) ?? [];
    const pasted = await run("bash", ["-c", request]);

    expect(pages.map((url) => new URL(url).pathname)).toEqual([
      "/graphql",
      "/docs",
      "/account",
      "/mcp",
      "/docs/limits",
    ]);
    // The door for agents is no web page.
    for (const url of pages.filter((one) => !one.endsWith("/mcp"))) {
      expect((await ask(url, { headers: { Accept: "text/html" } })).status, url).toBe(200);
    }
    expect(JSON.parse(pasted.output)).toMatchObject({ title: "Retry" });
    const [, options = ""] = /npm run tour -- (.*)/.exec(printed) ?? [];
    const words = await run("bash", ["-c", `printf '%s\\n' ${options}`]);
    expect(words.output.split("\n").slice(0, 4)).toEqual(["--url", server.url, "--data-dir", join(folder, ".data")]);
    const tooWide = printed.split("\n").filter((line) => line.length > 80 && !/ in \/| \/|npm run/.test(line));
    expect(tooWide).toEqual([]);
  });
});

it("stops at the first unexpected answer, and says what it expected", async () => {
  await using world = await createWorld();
  await using clone = await startForDevelopers(world.databaseUrl, { FREE_TEAM_SEATS: "1" });
  const { server, folder } = clone;
  const options = ["--url", server.url, "--data-dir", join(folder, ".data"), "--only", "team", "--json"];

  const { code, output, errors } = await runHere(program, options, { MEMORY_GRAPH_KEY: "" });

  expect({ code, output }).toEqual({ code: 1, output: "" });
  expect(errors).toMatch(
    /^"Invite bob\.\w+@example\.com" was not answered as expected: .* The answer: \{"reason":"subscription_required","message"/,
  );
});

it("names the address to use for one that redirects, and sends nothing there", async () => {
  const real = await fakeService(() => undefined);
  const { url } = await fakeService(({ url: path }) => ({ status: 308, headers: { location: `${real.url}${path}` } }));

  const { code, errors } = await runHere(program, ["--url", url], { MEMORY_GRAPH_KEY: "key" });
  const asked = restDoor(url).ask({ rest: { method: "POST", path: "/signup", body: {} }, graphql: { document: "" } });

  const said = `${url} redirects to ${real.url}. Give that address by --url.`;
  expect([code, errors]).toEqual([1, `${said}\n`]);
  await expect(asked).rejects.toThrow(said);
  expect(real.requests).toEqual([]);
});

it("takes a site that redirects for no stand-in, and pays nothing there", async () => {
  const site = await fakeService(({ url }) =>
    url === "/_stand-in/" ? { status: 302, headers: { location: "/home" } } : { status: 200, body: {} },
  );

  await expect(payAt(`${site.url}/pay/1`)).rejects.toThrow("This server uses Stripe itself");
  expect(site.requests.map(({ url }) => url)).toEqual(["/_stand-in/"]);
});

it("says that the stand-in does not answer, or that the server does not reach it", async () => {
  const failed = { error: { code: "payment_provider_error", message: "The payment provider failed." } };
  const service = await fakeService(() => ({ status: 502, body: failed }));

  await expect(payAt("http://127.0.0.1:1/pay/1")).rejects.toThrow(
    /^The payment page at http:\/\/127\.0\.0\.1:1 does not answer \(bad port\)\. .* start the server again/,
  );
  await expect(payBy(restDoor(service.url))).rejects.toThrow(
    /^"Make room .* was not possible: the server does not reach its stand-in for Stripe\. Start the server again/,
  );
});

it("tells a server that is not ready from one that is another, and names one that is lost on the way", async () => {
  const toldOf = async (status: number) => {
    const { url } = await fakeService(() => ({ status }));
    const { code, errors } = await runHere(program, ["--url", url], { MEMORY_GRAPH_KEY: "key" });
    return [code, errors.replace(url, "$")];
  };

  expect(await toldOf(503)).toEqual([1, expect.stringMatching(/^The server at \$ is not ready .*`npm run doctor`/)]);
  expect(await toldOf(404)).toEqual([1, "The server at $ is not this service (status 404). Check --url.\n"]);
  await expect(payBy(restDoor("http://127.0.0.1:1"))).rejects.toThrow(/^http:\/\/127\.0\.0\.1:1 does not answer/);
});

it("shows of what others have stored nothing that controls a terminal", async () => {
  const title = "a\u001B[31mb\u009B2Jc\u202Ed\u2028e";
  const { url } = await fakeService(() => ({ status: 200, body: { title, more: [title, title, title] } }));
  const shown: string[] = [];
  const guide = new Guide(restDoor(url), { write: (text) => void shown.push(text), colours: false });
  const rest = { method: "GET", path: `/v1/memories/${title}` } as const;

  await guide.step({ title: "Read it", shows: "it is shown", rest, graphql: { document: "" } });
  guide.note(title);

  const text = shown.join("");
  expect(text).toContain("b 2Jc d e");
  expect(text.replaceAll("\n", "")).not.toMatch(/[\p{Cc}\p{Zl}\p{Zp}\p{Bidi_Control}]/u);
});

/** Walks through the billing of a team at this door. */
const payBy = (door: Door): Promise<void> =>
  walkBilling(new Guide(door, { write: () => {}, colours: false }), {} as TourUsers, {
    owner: { variable: "ANN", key: "key" },
    teamId: "1",
  });

/** The same, at a door that names this payment page. */
const payAt = (url: string): Promise<void> =>
  payBy({ show: () => "", ask: async () => ({ status: "200", body: { url }, value: { url }, refusal: undefined }) });

it.each([
  [
    ["--url", "http://127.0.0.1:1"],
    1,
    /^http:\/\/127\.0\.0\.1:1 does not answer \(bad port\)\. Start the service .*--url/,
  ],
  [["--url", "127.0.0.1:4000"], 2, /is invalid\. Give one such as http/],
  [["--only", "everything"], 2, /Allowed choices are graph, team, billing\./],
])("says what to do when it is called with %j", async (options, expected, message) => {
  const { code, output, errors } = await runHere(program, options, {});

  expect({ code, output, lines: errors.trim().split("\n").length }).toEqual({ code: expected, output: "", lines: 1 });
  expect(errors).toMatch(message);
});

const shells = ["bash", "zsh"].filter((shell) => spawnSync(shell, ["-c", "true"]).status === 0);

it.each(shells)("lets the README be pasted from its first line to its last into %s", async (shell) => {
  await using world = await createWorld();
  await using clone = await startForDevelopers(world.databaseUrl);
  const { server, folder } = clone;
  const walk = README.slice(README.indexOf("## The first five minutes"), README.indexOf("## The map"));
  const blocks = Array.from(walk.matchAll(/^```sh\n([^]*?)^```$/gm), ([, lines = ""]) => lines);
  // These agents are not here: what each would be called with is printed.
  const agents = ["claude", "codex", "gemini", "code"].map((name) => `${name}() { printf '%s\\n' ${name} "$@"; }\n`);
  const lines = [...agents, ...blocks.filter((block) => !block.startsWith("npm run"))].join("\n");

  const pasted = await run(shell, ["-e", "-c", lines.replaceAll("http://127.0.0.1:4000", server.url)], { cwd: folder });

  expect(pasted).toMatchObject({ code: 0, errors: "" });
  expect(pasted.output).not.toContain('"error"');
  for (const seen of ["SOLVES", "Payments time out", "Retry with backoff", "Use jitter", "accepted"]) {
    expect(pasted.output).toContain(seen);
  }
  const key = (await readFile(join(folder, ".data", "demo-key"), "utf8")).trim();
  for (const agent of ["claude", "gemini"]) {
    expect(pasted.output).toMatch(new RegExp(`^${agent}\\nmcp\\nadd\\n([^]*\\n)?Authorization: Bearer ${key}\\n`, "m"));
  }
  const settingsOf = (client: string) => {
    const { code = "" } = AGENT_CLIENTS.find(({ name }) => name === client) ?? {};
    return JSON.parse(code.replaceAll(AGENTS_URL, server.url).replace("mg_live_…", key)) as Record<string, object>;
  };
  expect(JSON.parse(await readFile(join(folder, ".cursor", "mcp.json"), "utf8"))).toEqual(settingsOf("Cursor"));
  const [, forCode = ""] = /^code\n--add-mcp\n(.+)$/m.exec(pasted.output) ?? [];
  const { name, ...settings } = JSON.parse(forCode) as { name: string };
  expect({ servers: { [name]: settings } }).toEqual(settingsOf("VS Code"));
});

it("keeps the README's shell lines free of placeholders, and of comments, which zsh rejects when pasted", () => {
  const blocks = Array.from(README.matchAll(/^```sh\n([^]*?)^```$/gm), ([, lines = ""]) => lines);

  expect(blocks.length).toBeGreaterThan(2);
  expect(
    blocks
      .join("")
      .split("\n")
      .filter((line) => /(^|\s)#|…|\bTOKEN OF\b|\bID OF\b|"CODE"/.test(line)),
  ).toEqual([]);
});

/** A server as `npm start` runs it, with the data folder of a clone: `.data` in this folder. */
interface Clone extends AsyncDisposable {
  readonly server: ServerProcess;
  readonly folder: string;
}

async function startForDevelopers(
  databaseUrl: string,
  environment: Readonly<Record<string, string>> = {},
): Promise<Clone> {
  const folder = await mkdtemp(join(tmpdir(), "Ann's clone-"));
  const development = { NODE_ENV: "development", DATA_DIR: join(folder, ".data"), DATABASE_URL: databaseUrl };
  const server = await startServerProcess({ ...development, ...environment }, { mails: { lookedEveryMs: 50 } });
  await waitForBanner(server);
  return {
    server,
    folder,
    async [Symbol.asyncDispose]() {
      await server.kill("SIGTERM");
      await rm(folder, { recursive: true, force: true });
    },
  };
}

const waitForBanner = ({ printed }: ServerProcess): Promise<void> =>
  vi.waitFor(() => expect(printed()).toContain("Ctrl-C stops the service."), { timeout: 60_000 });

async function run(command: string, args: readonly string[], { cwd = resolve(".") } = {}): Promise<Output> {
  const env = { ...environmentForProcess(), MEMORY_GRAPH_KEY: "" };
  const child = spawn(command, args, { cwd, env, stdio: ["ignore", "pipe", "pipe"] });
  const [output, errors] = await Promise.all([text(child.stdout), text(child.stderr), once(child, "exit")]);
  return { code: child.exitCode, output, errors };
}
