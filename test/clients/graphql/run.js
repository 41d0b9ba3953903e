import assert from "node:assert/strict";
import { flow } from "./flow.js";

// A client's warning is an error here: of the service, or of how the client is used.
const warnings = [];
console.warn = console.error = (...what) => void warnings.push(what.join(" "));

/** Runs the flow with one client: `node run.js <client> <url> <key>`. */
const [client, url, key] = process.argv.slice(2);
const { connect, check } = await import(`./${client}.js`);
await flow(connect, url, key);
check?.();
assert.deepEqual(warnings, []);
