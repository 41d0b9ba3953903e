import { createServer, request } from "node:http";
import { register } from "node:module";

/**
 * Runs the conformance tool on a server: `node conformance.js <revision> <folder for its results> <url> <key>`. The
 * tool cannot send keys, so its requests pass a proxy that adds one.
 */
const [revision, results, url, key] = process.argv.slice(2);
const { hostname, port, pathname } = new URL(url);
const proxy = createServer((asked, answer) => {
  const headers = { ...asked.headers, authorization: `Bearer ${key}` };
  const onward = request({ hostname, port, path: asked.url, method: asked.method, headers }, (answered) => {
    answer.writeHead(answered.statusCode, answered.headers);
    answered.pipe(answer);
  });
  onward.on("error", () => answer.destroy());
  asked.pipe(onward);
});
await new Promise((resolve) => proxy.listen(0, "127.0.0.1", resolve));

// The tool imports `globSync` for another command. Node 20 lacks it, so the tool would not load.
const hook = `export async function load(url, context, next) {
  const loaded = await next(url, context);
  if (!url.includes("@modelcontextprotocol/conformance/dist")) return loaded;
  return { ...loaded, source: String(loaded.source).replace(/globSync as \\w+,/, "") };
}`;
register(`data:text/javascript,${encodeURIComponent(hook)}`);

const target = `http://127.0.0.1:${proxy.address().port}${pathname}`;
process.argv = [process.argv[0], "conformance", "server", "--url", target];
process.argv.push("--requirements", revision, "--output-dir", results);
// The tool exits with 1 when any check fails; the test decides which may fail.
const exit = process.exit.bind(process);
process.exit = () => exit(0);
await import("@modelcontextprotocol/conformance/dist/index.js");
