import { type Server, type ServerResponse, createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { EmbeddingsServer } from "../../src/platform/embeddings.js";

/** A hand-made vector space: words on one line mean the same, and each line is one dimension. */
const CONCEPTS = [
  ["car", "automobile", "vehicle", "wagen"],
  ["doctor", "physician", "arzt"],
  ["slow", "sluggish", "latency"],
  ["invoice", "bill", "rechnung"],
];

/** What the server does instead of answering with vectors. */
export type Trouble = "fails" | "hangs" | "nan" | "zero" | "huge" | "fewer" | "uneven" | "no json";

/** An embeddings server that knows the concepts above. */
export interface EmbeddingsStandIn extends AsyncDisposable {
  readonly url: string;
  /** The requests so far: their models, keys and texts. */
  readonly asked: { readonly model: string; readonly key: string | undefined; readonly texts: readonly string[] }[];
  trouble: Trouble | undefined;
  /** A text with this word is refused, whether it is sent alone or with others. */
  refused: string | undefined;
  /** How long it takes for an answer. */
  delayMs: number;
  client(model?: string): EmbeddingsServer;
}

export async function startEmbeddingsServer(): Promise<EmbeddingsStandIn> {
  const asked: EmbeddingsStandIn["asked"] = [];
  const server: Server = createServer((request, response) => {
    let body = "";
    request.on("data", (chunk: Buffer) => (body += chunk.toString()));
    request.on("end", () => {
      const { model, input } = JSON.parse(body) as { model: string; input: string[] };
      asked.push({ model, key: request.headers.authorization, texts: input });
      setTimeout(() => answer(response, model, input), standIn.delayMs);
    });
  });
  const answer = (response: ServerResponse, model: string, texts: readonly string[]) => {
    const { trouble, refused } = standIn;
    if (trouble === "hangs") return;
    if (trouble === "fails" || (refused && texts.some((text) => text.includes(refused)))) {
      return void response.writeHead(500).end("secret-key: no");
    }
    if (trouble === "no json") return void response.end("<html>");
    if (trouble === "huge") return void response.end(`{"data":[${"1,".repeat(200_000)}1]}`);
    const data = texts.map((text, index) => ({ index, embedding: vectorOf(text, model) as unknown[] }));
    if (trouble === "nan") data[0]?.embedding.splice(0, 1, "NaN");
    if (trouble === "zero") data[0]?.embedding.fill(0);
    if (trouble === "fewer") data.pop();
    if (trouble === "uneven") data[0]?.embedding.push(1);
    response.end(JSON.stringify({ data: data.toReversed(), model }));
  };
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`;
  const standIn: EmbeddingsStandIn = {
    ...{ url, asked, trouble: undefined, refused: undefined, delayMs: 0 },
    client: (model = "one") => new EmbeddingsServer({ url, model, key: "secret-key" }),
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
  return standIn;
}

/**
 * Each model has its own number of dimensions and its own position for each concept; by `narrow` all texts are near.
 */
function vectorOf(text: string, model: string): number[] {
  if (model === "narrow") return narrowVectorOf(text);
  const [size, shift]: readonly [number, number] = model === "one" ? [20, 0] : [33, 7];
  const vector = Array.from({ length: size }, () => 0);
  for (const word of text.toLowerCase().match(/\p{L}+/gu) ?? []) {
    const concept = CONCEPTS.findIndex((words) => words.includes(word));
    if (concept >= 0) vector[(concept + shift) % size] = 1;
  }
  // Texts without any concept are equal to each other, and far from all others.
  if (!vector.includes(1)) vector[size - 1] = 1;
  return vector;
}

/** Unrelated texts have the cosine 0.8, as some models have it for them. */
function narrowVectorOf(text: string): number[] {
  const words: readonly string[] = text.toLowerCase().match(/\p{L}+/gu) ?? [];
  const concept = CONCEPTS.findIndex((kin) => kin.some((word) => words.includes(word)));
  const vector = Array.from({ length: 40 }, () => 0);
  vector[concept >= 0 ? concept : CONCEPTS.length + (text.length % 30)] = 1;
  vector[39] = 2;
  return vector;
}
