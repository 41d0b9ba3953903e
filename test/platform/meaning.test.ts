import { expect, it } from "vitest";
import { LIMITS } from "../../src/limits.js";
import { EmbeddingsServer, type Vector } from "../../src/platform/embeddings.js";
import { Meaning } from "../../src/platform/meaning.js";

const VECTOR: Vector = { values: Int8Array.of(127), scale: 1 / 127 };

/** A server that answers only when the test says so. */
class SlowServer extends EmbeddingsServer {
  answer: (() => void)[] = [];

  constructor() {
    super({ url: "http://127.0.0.1:1", model: "one", key: undefined });
  }

  override async embed(): Promise<Vector[]> {
    await new Promise<void>((resolve) => this.answer.push(resolve));
    return [VECTOR];
  }
}

it("embeds a query later that was not sent while too many waited", async () => {
  const server = new SlowServer();
  await using meaning = new Meaning(server);
  const first = Array.from({ length: LIMITS.embeddings.queriesAtOnce }, (_, n) =>
    meaning.vectorOf(`query ${n}`, "query", "one"),
  );
  await expect(meaning.vectorOf("another", "query", "one")).rejects.toThrow("too many queries");
  for (const answer of server.answer) answer();
  await Promise.all(first);

  const again = meaning.vectorOf("another", "query", "one");
  for (const answer of server.answer) answer();

  expect(await again).toEqual(VECTOR);
});
