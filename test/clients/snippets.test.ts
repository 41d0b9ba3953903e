import { mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, it } from "vitest";
import { SNIPPETS, SNIPPET_KEY, SNIPPET_URL, type Snippet } from "../../src/surfaces/pages/graphql-snippets.js";
import { ask } from "../support/http.js";
import { aLink, memoriesTitled } from "../support/memories.js";
import { createWorld } from "../support/world.js";
import { runTool } from "./tools.js";

const FOLDER = fileURLToPath(new URL("node_modules/.cache/snippets/", import.meta.url));

/** The snippet with this title as a reader would use it, with their own URL and key. Returns its folder. */
async function writeSnippet(title: string, url: string, key: string): Promise<string> {
  const { files } = SNIPPETS.find((known) => known.title === title) as Snippet;
  // Installing empties the folder, so do it first.
  await runTool("--version");
  const folder = join(FOLDER, title.replaceAll(/\W+/g, "-"));
  rmSync(folder, { recursive: true, force: true });
  for (const [name, code] of Object.entries(files)) {
    const path = join(folder, name);
    mkdirSync(dirname(path), { recursive: true });
    writeFileSync(path, code.replaceAll(SNIPPET_URL, `${url}/graphql`).replaceAll(SNIPPET_KEY, key));
  }
  writeFileSync(join(folder, "package.json"), '{ "type": "module" }');
  return folder;
}

/** A server with two memories and a relationship, and a key for them. */
async function serveMemories() {
  const world = await createWorld();
  const { url } = await world.serve();
  const ann = await world.user();
  const [problem, solution] = await memoriesTitled(ann, "Requests fail", "Retry with backoff");
  await aLink(ann, solution, problem, { relationshipType: "SOLVES" });
  return { url, key: ann.key, [Symbol.asyncDispose]: () => world[Symbol.asyncDispose]() };
}

const CASES = [
  ["fetch", "ask.js"],
  ["Apollo Client", "apollo.js"],
  ["urql", "urql.js"],
] as const;

it.each(CASES)("runs as the page shows it: %s", async (title, file) => {
  await using server = await serveMemories();
  const folder = await writeSnippet(title, server.url, server.key);

  const printed = await runTool(join(folder, file));

  expect(printed).toContain("Retry with backoff");
});

it("runs as the page shows it: Relay", async () => {
  await using server = await serveMemories();
  const folder = await writeSnippet("Relay", server.url, server.key);
  const asking = `
    import "../../../../graphql/relay.js";
    import relay from "relay-runtime";
    import { environment } from "./environment.js";
    const { default: list } = await import("../../relay/flowListQuery.graphql.js");
    console.log(JSON.stringify(await relay.fetchQuery(environment, list, { limit: 5 }).toPromise()));`;
  writeFileSync(join(folder, "asking.js"), asking);

  const printed = await runTool(join(folder, "asking.js"));

  expect(printed).toContain("Retry with backoff");
});

it("runs as the page shows it: Apollo Client: endless lists", async () => {
  await using server = await serveMemories();
  const folder = await writeSnippet("Apollo Client: endless lists", server.url, server.key);
  const file = join(folder, "memories.js");
  writeFileSync(file, readFileSync(file, "utf8").replace("limit: 20", "limit: 1"));
  const asking = `
    import { list, readMore, remove } from "./memories.js";
    const memories = () => list.getCurrentResult().data?.memories?.memories ?? [];
    const print = () => console.log(JSON.stringify(memories().map(({ title }) => title)));
    const whenShown = (count) => new Promise((done) => {
      const look = () => (memories().length === count ? done() : setTimeout(look, 5));
      look();
    });
    const subscription = list.subscribe(() => {});
    await whenShown(1);
    await Promise.all([readMore(), readMore()]);
    await whenShown(2);
    print();
    await remove(memories()[0].id);
    await whenShown(1);
    print();
    subscription.unsubscribe();`;
  writeFileSync(join(folder, "asking.js"), asking);

  const printed = await runTool(join(folder, "asking.js"));

  expect(printed.trim().split("\n")).toEqual(['["Retry with backoff","Requests fail"]', '["Requests fail"]']);
});

it("generates types as the page shows it, without `any`", async () => {
  await using server = await serveMemories();
  const folder = await writeSnippet("Types by GraphQL Code Generator", server.url, server.key);
  const cli = fileURLToPath(new URL("node_modules/@graphql-codegen/cli/esm/bin.js", import.meta.url));

  const one = "query One($id: ID!) { memory(id: $id) { title } }";
  writeFileSync(join(folder, "src/one.ts"), `import { graphql } from "./gql/index.js";\ngraphql(\`${one}\`);`);
  // The tool searches everything below the folder in which it is started.
  const start = `process.chdir(${JSON.stringify(folder)}); process.argv.splice(1, 0, "codegen"); import(${JSON.stringify(cli)})`;
  await runTool("--eval", start, "--", "--config", "codegen.ts");

  const types = readFileSync(join(folder, "src/gql/graphql.ts"), "utf8");
  expect(types).toMatch(/SearchQuery = .*createdAt: string/);
  // The service refuses numbers.
  expect(types).toMatch(/OneQueryVariables = [^=]*\bid: string;/);
  expect(types).not.toMatch(/\bany\b/);
});

it("runs every snippet of the page", () => {
  const others = ["Apollo Client: endless lists", "Relay", "Types by GraphQL Code Generator"];
  const titles = [...CASES.map(([title]) => title), ...others];
  expect(titles.toSorted()).toEqual(SNIPPETS.map(({ title }) => title).toSorted());
});

it("shows the snippets at /docs/graphql without a key", async () => {
  await using server = await serveMemories();

  const { status, body } = await ask(`${server.url}/docs/graphql`);

  expect(status).toBe(200);
  for (const { title } of SNIPPETS) expect(body).toContain(`<h2>${title}</h2>`);
});
