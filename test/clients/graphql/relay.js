import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { mkdirSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import relay from "relay-runtime";
import { documents } from "./flow.js";

const { Environment, Network, RecordSource, Store, commitMutation, fetchQuery } = relay;

/** The artifacts that Relay's compiler makes of the documents. It rejects documents that do not fit the schema. */
const artifacts = await compiled();

async function compiled() {
  const folder = new URL("../node_modules/.cache/relay/", import.meta.url);
  mkdirSync(folder, { recursive: true });
  const compiler = fileURLToPath(new URL("../node_modules/relay-compiler/cli.js", import.meta.url));
  execFileSync(process.execPath, [compiler, "--noWatchman", "--output", "quiet-with-errors"], { stdio: "inherit" });
  const named = Object.entries(documents).map(async ([name, text]) => {
    const [, title] = /(?:query|mutation) (\w+)/.exec(text);
    const { default: artifact } = await import(new URL(`${title}.graphql.js`, folder));
    return [name, artifact];
  });
  return Object.fromEntries(await Promise.all(named));
}

/** Relay's own keeps objects by their id alone. */
const getDataID = ({ id }, type) => id && type + id;

export function connect(url, key) {
  const network = Network.create(async ({ text }, variables) => {
    const response = await fetch(`${url}/graphql`, {
      method: "POST",
      headers: { authorization: `Bearer ${key}`, "content-type": "application/json" },
      body: JSON.stringify({ query: text, variables }),
    });
    return response.json();
  });
  const environment = new Environment({ network, store: new Store(new RecordSource()), getDataID });
  const change = (mutation, variables) =>
    new Promise((resolve, reject) => {
      const onCompleted = (data, errors) => resolve({ data, errors: errors ?? undefined });
      commitMutation(environment, { mutation, variables, onCompleted, onError: reject });
    });
  return async (name, variables) => {
    const artifact = artifacts[name];
    try {
      if (artifact.params.operationKind === "mutation") return await change(artifact, variables);
      return { data: await fetchQuery(environment, artifact, variables).toPromise() };
    } catch (error) {
      if (error.source?.errors) return { errors: error.source.errors };
      throw error;
    }
  };
}

/** The schema tells what its users need. */
export function check() {
  const schema = readFileSync(new URL("../../../schema.graphql", import.meta.url), "utf8");
  assert.ok(schema.includes(`\`getDataID: ${getDataID}\``));
}
