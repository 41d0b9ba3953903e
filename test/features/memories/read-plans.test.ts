import { expect, it } from "vitest";
import { memoriesAlone, memoriesWithRelationships } from "../../../src/features/memories/memory-statements.js";
import { inOrder } from "../../../src/platform/statement.js";
import { manyMemories } from "../../support/memories.js";
import { createWorld } from "../../support/world.js";

it.each([memoriesAlone, memoriesWithRelationships])(
  "plans $name once, for any number of memories",
  async (statement) => {
    await using world = await createWorld();
    const ann = await world.user();
    const ids = (await manyMemories(world, ann, 2_000)).map(({ id }) => id);
    await world.database.pool.query("ANALYZE memory, relationship");
    const client = await world.database.pool.connect();
    // Its own: the connection may have executed the statement in an earlier test.
    const name = `planned_${statement.name}`;

    // PostgreSQL plans the first five executions for their values, and then decides.
    for (let count = 1; count <= 20; count++) {
      const graphId = ann.caller.personalGraphId;
      const values = inOrder(statement, { graphId, ids: ids.slice(0, count), withContent: true });
      await client.query({ name, text: statement.text, values });
    }
    const { rows } = await client.query<{ once: string; anew: string }>(
      "SELECT generic_plans AS once, custom_plans AS anew FROM pg_prepared_statements WHERE name = $1",
      [name],
    );
    client.release();

    expect(rows).toEqual([{ once: "15", anew: "5" }]);
  },
);
