import { expect, it, vi } from "vitest";
import { LIMITS } from "../../src/limits.js";
import {
  EmbeddingsFailed,
  EmbeddingsServer,
  NotNow,
  type TextUse,
  type Vector,
} from "../../src/platform/meaning/embeddings.js";
import { Meaning } from "../../src/platform/meaning/meaning.js";
import { type Trouble, startEmbeddingsServer } from "../support/embeddings-server.js";

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

/** A server that answers at once, by each model in another way, and counts the requests. */
class QuickServer extends EmbeddingsServer {
  asked = 0;

  constructor() {
    super({ url: "http://127.0.0.1:1", model: "one", key: undefined });
  }

  override async embed(texts: readonly string[], use: TextUse, _timeoutMs: number, of: string): Promise<Vector[]> {
    this.asked++;
    const sign = of === "opposite" && use === "query" ? -127 : 127;
    return texts.map((_, place) => {
      const values = new Int8Array(texts.length);
      values[of === "apart" ? place : 0] = sign;
      return { values, scale: 1 / 127 };
    });
  }
}

it("keeps the vectors of the latest texts, each by its use and model", async () => {
  const server = new QuickServer();
  await using meaning = new Meaning(server);
  const askedFor = async (...wish: Parameters<Meaning["vectorOf"]>) => {
    const before = server.asked;
    await meaning.vectorOf(...wish);
    return server.asked - before;
  };

  expect([await askedFor("a", "query", "one"), await askedFor("a", "query", "one")]).toEqual([1, 0]);
  expect([await askedFor("a", "document", "one"), await askedFor("a", "query", "two")]).toEqual([1, 1]);
  for (let n = 0; n < LIMITS.embeddings.queriesKept - 1; n++) await askedFor(`text ${n}`, "query", "one");
  expect([await askedFor("a", "query", "two"), await askedFor("a", "query", "one")]).toEqual([0, 1]);
});

it("keeps few sets of vectors that wait for an index: with the embedded PostgreSQL nothing makes one", async () => {
  await using meaning = new Meaning(new QuickServer());
  for (let n = 0; n < 1_000; n++) meaning.noteUnfit(`graph ${n}`, { graphId: `${n}`, model: "one", dimension: 384 });
  expect(meaning.unfit.size).toBe(100);
});

it("measures by each model how near unrelated texts are, from 0 to less than 1, and how long pieces may be", async () => {
  const server = new QuickServer();
  await using meaning = new Meaning(server);

  expect(await meaning.unrelatedBy("apart", "query")).toBe(0);
  expect(await meaning.unrelatedBy("opposite", "query")).toBe(0);
  expect(await meaning.unrelatedBy("opposite", "document")).toBe(0.95);
  expect(await meaning.unrelatedBy("one", "query")).toBe(0.95);
  expect(await meaning.pieceSizeBy("one")).toBe(LIMITS.embeddings.pieceSize);

  // Each is measured once.
  server.asked = 0;
  for (const model of ["apart", "opposite", "one"]) await meaning.unrelatedBy(model, "query");
  await meaning.pieceSizeBy("one");
  expect(server.asked).toBe(0);
});

const REASONS: Readonly<Record<Trouble, string>> = {
  fails: "it answers 500",
  hangs: "it does not answer in time",
  nan: "its vectors have what is no number",
  zero: "it answers a vector without a direction",
  huge: "its answer is too large",
  fewer: "its answer has no vector for each text",
  uneven: "its vectors differ in dimension, or one is missing",
  "other path": "its answer has no vector for each text",
  "no json": "its answer is not JSON",
};

it.each(Object.entries(REASONS))("says why a server that %s gave no vectors", async (trouble, reason) => {
  await using server = await startEmbeddingsServer();
  server.trouble = trouble as Trouble;
  const client = server.client();

  const failing = client.embed(["a car", "a doctor"], "document", trouble === "hangs" ? 50 : 10_000);

  await expect(failing).rejects.toThrow(EmbeddingsFailed);
  await expect(failing).rejects.toMatchObject({ message: reason });
});

it.each(["any order", "null", "none"] as const)(
  "gives each text its vector, numbers of vectors: %s",
  async (numbers) => {
    await using server = await startEmbeddingsServer();
    server.numbers = numbers;
    const texts = ["slow", "car", "doctor"];

    const vectors = await server.client().embed(texts, "document", 10_000);

    const alone = texts.map(async (text) => (await server.client().embed([text], "document", 10_000))[0]);
    expect(vectors).toEqual(await Promise.all(alone));
  },
);

it("reads vectors of 4,096 numbers, however a server writes them", async () => {
  await using server = await startEmbeddingsServer();
  server.wide = true;

  const vectors = await server.client().embed(["a car", "a doctor"], "document", 10_000);

  expect(vectors.map(({ values }) => values.length)).toEqual([4_096, 4_096]);
});

it("waits for the vector of a query as long as for others, since a server may load the model for it", async () => {
  const server = new QuickServer();
  await using meaning = new Meaning(server);
  using embed = vi.spyOn(server, "embed");

  await meaning.vectorOf("a", "query", "one");
  await meaning.pieceSizeBy("one");

  const waits = new Set(embed.mock.calls.map(([, , timeoutMs]) => timeoutMs));
  expect([...waits]).toEqual([LIMITS.embeddings.requestMs]);
  // A job that waits for three such answers is not abandoned.
  expect(3 * LIMITS.embeddings.requestMs).toBeLessThan(LIMITS.chores.runMs);
});

it.each(["float", "none"] as const)("embeds by a server that takes this encoding_format alone: %s", async (format) => {
  await using server = await startEmbeddingsServer();
  server.format = format;
  const client = server.client();

  for (let request = 0; request < 3; request++) {
    await expect(client.embed(["a car"], "query", 10_000)).resolves.toHaveLength(1);
  }
  expect(server.asked.length).toBe(format === "float" ? 3 : 4);
  // What it refuses later has another reason.
  server.status = 400;
  await expect(client.embed(["a car"], "query", 10_000)).rejects.toThrow("it answers 400");
  expect(server.asked.length).toBe(format === "float" ? 4 : 5);
});

it("waits as Retry-After says, in seconds or until a date, but not for a day, nor for no time", async () => {
  await using server = await startEmbeddingsServer();
  const waitAfter = async (retryAfter?: string) => {
    server.limit = { texts: 0, ...(retryAfter !== undefined && { retryAfter }) };
    const failure: unknown = await server
      .client()
      .embed(["a car"], "document", 10_000)
      .catch((error: unknown) => error);
    return failure instanceof NotNow ? Math.ceil(failure.waitMs / 60_000) : failure;
  };

  const inTwoMinutes = new Date(Date.now() + 120_000).toUTCString();
  const minutes = [];
  for (const header of ["120", inTwoMinutes, "86400", "soon", undefined, "0", "-5"])
    minutes.push(await waitAfter(header));
  expect(minutes).toEqual([2, 2, 3, 1, 1, 1, 1]);
});
