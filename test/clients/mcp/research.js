import assert from "node:assert/strict";
import { CLIENTS } from "./connect.js";

/** What ChatGPT's deep research does, with one client: `node research.js <client> <url> <key>`. */
const [name, url, key] = process.argv.slice(2);
const headers = { Authorization: `Bearer ${key}` };
const client = await CLIENTS[name](`${url}?tools=search,fetch`, headers);

/** Calls a tool; the client checks the answer against the tool's schema. */
async function call(tool, args) {
  const { structuredContent, content, isError } = await client.callTool({ name: tool, arguments: args });
  assert.equal(isError, undefined, JSON.stringify(content));
  assert.equal(content.length, 1);
  assert.deepEqual(JSON.parse(content[0].text), structuredContent);
  return structuredContent;
}

const { tools } = await client.listTools();
assert.deepEqual(
  tools.map((tool) => [tool.name, tool.inputSchema.required, tool.annotations.readOnlyHint]),
  [
    ["search", ["query"], true],
    ["fetch", ["id"], true],
  ],
);
assert.equal(client.getInstructions(), undefined);

const agent = await CLIENTS[name](url, headers);
const content = "\u{1F600} More. ".repeat(2_000);
await agent.callTool({ name: "store_memory", arguments: { type: "problem", title: "Payments time out", content } });
await agent.close();

const { results } = await call("search", { query: "paymnts" });
assert.deepEqual(Object.keys(results[0]), ["id", "title", "url"]);
assert.equal(new URL(results[0].url).searchParams.get("memory"), results[0].id);

let read = "";
for (let id = results[0].id; id !== undefined;) {
  const document = await call("fetch", { id });
  assert.deepEqual(Object.keys(document), ["id", "title", "text", "url", "metadata"]);
  const cut = /… \[cut at character \d+ of \d+\] To read on, fetch (\S+)\.$/.exec(document.text);
  read += document.text.slice(0, cut?.index);
  id = cut?.[1];
}
assert.equal(read, content);

const { isError } = await client.callTool({ name: "fetch", arguments: { id: "00000000-0000-0000-0000-000000000000" } });
assert.equal(isError, true);
await assert.rejects(client.callTool({ name: "store_memory", arguments: {} }), /Unknown tool/);
await client.close();
await assert.rejects(CLIENTS[name](`${url}?tools=search,fetsh`, headers), /fetsh/);
