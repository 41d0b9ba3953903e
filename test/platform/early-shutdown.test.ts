import { connect, createServer } from "node:net";
import { expect, it, onTestFinished } from "vitest";
import { openDatabase } from "../../src/platform/database/database.js";
import { listen } from "../support/listening.js";
import { createWorld } from "../support/world.js";

/** PostgreSQL's message that it is ready, and its message that it shuts down. */
const READY = Buffer.from([0x5a, 0, 0, 0, 5, 0x49]);
const FIELDS = Buffer.from("SFATAL\0VFATAL\0C57P01\0Mterminating connection due to administrator command\0\0");
const GOODBYE = Buffer.concat([Buffer.from([0x45, 0, 0, 0, FIELDS.length + 4]), FIELDS]);

it("survives a shutdown message in the same packet as the message that the database is ready", async () => {
  await using world = await createWorld();
  const target = new URL(world.databaseUrl);
  const server = createServer((client) => {
    const upstream = connect(Number(target.port || 5432), target.hostname);
    upstream.on("data", (bytes) => client.write(bytes.includes(READY) ? Buffer.concat([bytes, GOODBYE]) : bytes));
    client.on("data", (bytes) => upstream.write(bytes));
    for (const [one, other] of [[client, upstream] as const, [upstream, client] as const]) {
      one.on("close", () => other.destroy()).on("error", () => other.destroy());
    }
  });
  onTestFinished(() => void server.close());
  const url = new URL(world.databaseUrl);
  url.port = String(await listen(server));
  await using database = openDatabase(url.href);

  // An unhandled error would fail the whole test run; either result of the query is fine.
  const statement = { name: "one", text: "SELECT 1 AS one" };
  const outcomes = await Promise.allSettled([
    database.run(statement, []),
    database.search((run) => run(statement, [])),
    database.transaction((inner) => inner.run(statement, [])),
  ]);

  expect(outcomes).toHaveLength(3);
});
