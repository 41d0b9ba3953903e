import { rmdirSync } from "node:fs";
import { mkdir, readFile, readdir, writeFile } from "node:fs/promises";
import { type RequestListener, createServer } from "node:http";
import { join } from "node:path";
import { expect, it, onTestFinished, vi } from "vitest";
import { program as exportProgram } from "../../src/commands/export.js";
import { runHere } from "../support/commands.js";
import { aFolder } from "../support/folder.js";
import { fakeService } from "../support/imports.js";
import { listen } from "../support/listening.js";

/** Starts a server instead of the service; returns its address. */
async function serve(answer: RequestListener): Promise<string> {
  const server = createServer(answer);
  onTestFinished(() => void server.close());
  return `http://127.0.0.1:${await listen(server)}`;
}

it("waits for the rate limit, says so, and gives up after as many waits as an import", async () => {
  const file = join(await aFolder(), "graph.json");
  const refused = { status: 429, body: { error: { code: "rate_limited", message: "Too many requests." } } };
  const exported = async (...retryAfter: readonly string[]) => {
    const answers = retryAfter.map((value) => ({ ...refused, headers: { "retry-after": value } }));
    const service = await fakeService(() => answers.shift());
    const ran = await runHere(exportProgram, [file, "--url", service.url, "--key", "key"], {});
    return { ...ran, requests: service.requests.length };
  };

  const waited = await exported("1", "0");
  const tired = await exported(...Array.from({ length: 61 }, () => "0"));

  // What comes then is no export.
  expect(waited).toMatchObject({ code: 1, requests: 3 });
  expect(waited.errors).toMatch(/^Waiting 1 s: rate limit reached\.\nWaiting 0 s: rate limit reached\.\nWhat http:/);
  expect(tired).toMatchObject({ code: 1, requests: 61 });
  expect(tired.errors).toMatch(/reached\.\nToo many requests\.\n$/);
});

it("leaves no file if the connection breaks, and says so", async () => {
  const url = await serve((_request, response) => {
    const first = '{"record":"graph","format":"memory-graph","memories":2,"relationships":0}\n';
    response.writeHead(200).write(first, () => response.destroy());
  });
  const folder = await aFolder();

  const ran = await runHere(exportProgram, [join(folder, "graph.jsonl"), "--url", url], { MEMORY_GRAPH_KEY: "key" });

  expect(ran).toMatchObject({ code: 1, output: "" });
  expect(ran.errors).toContain("The connection broke before the export was complete");
  expect(await readdir(folder)).toEqual([]);
});

it("shows the progress of a long export, and stops with it", async () => {
  vi.useFakeTimers({ toFake: ["setInterval", "clearInterval"] });
  onTestFinished(() => void vi.useRealTimers());
  let goOn = () => {};
  const url = await serve((_request, response) => {
    const begin = '{"record":"graph","format":"memory-graph","memories":2,"relationships":0}\n{"record":"memory"}\n';
    response.write(begin);
    goOn = () => void response.end('{"record":"memory"}\n{"record":"end","memories":2,"relationships":0}\n');
  });
  const file = join(await aFolder(), "graph.jsonl");

  const exporting = runHere(exportProgram, [file, "--url", url], { MEMORY_GRAPH_KEY: "key" });
  await expect.poll(() => vi.getTimerCount()).toBe(1);
  vi.advanceTimersByTime(5_000);
  goOn();

  expect(await exporting).toMatchObject({
    code: 0,
    errors: expect.stringMatching(/^1 of 2 done, .* left\n$/) as string,
  });
  expect(vi.getTimerCount()).toBe(0);
});

it("blames the file, not the connection, if the file cannot be written", async () => {
  const folder = join(await aFolder(), "removed");
  await mkdir(folder);
  const url = await serve((_request, response) => {
    rmdirSync(folder);
    response.end('{"record":"graph","format":"memory-graph","memories":0,"relationships":0}\n');
  });

  const ran = await runHere(exportProgram, [join(folder, "graph.jsonl"), "--url", url], { MEMORY_GRAPH_KEY: "key" });

  expect(ran).toMatchObject({ code: 1, output: "", errors: expect.stringContaining("(ENOENT)") as string });
});

it.each(["jsonl", "memorygraph"])("keeps the earlier file in %s if a proxy sends a page instead", async (format) => {
  let page = "";
  const url = await serve((_request, response) => void response.writeHead(200).end(page));
  const file = join(await aFolder(), "graph");
  await writeFile(file, "earlier");

  for (const [sent, said] of [
    [
      "<html>\nPlease log in\n</html>\n",
      `What ${url} sends is no export, so nothing was written: "<html>". Check --url`,
    ],
    ['{"message":"Please log in"}\n', 'nothing was written: "{\\"message\\"'],
    ["<html>é", 'is no export, so nothing was written: "<html>é"'],
    ["", "before the export was complete"],
  ] as const) {
    page = sent;
    const ran = await runHere(exportProgram, [file, "--format", format, "--url", url], { MEMORY_GRAPH_KEY: "key" });

    expect(ran).toMatchObject({ code: 1, output: "", errors: expect.stringContaining(said) as string });
    expect(await readFile(file, "utf8")).toBe("earlier");
  }
});
