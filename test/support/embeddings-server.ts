import { type Server, type ServerResponse, createServer } from "node:http";
import { EmbeddingsServer, type EmbeddingsSettings } from "../../src/platform/meaning/embeddings.js";
import { listen } from "./listening.js";

/** A hand-made vector space: words on one line mean the same, and each line is one dimension. */
const CONCEPTS = [
  ["car", "automobile", "vehicle", "wagen"],
  ["doctor", "physician", "arzt"],
  ["slow", "sluggish", "latency"],
  ["invoice", "bill", "rechnung"],
];

const WIDE = Array.from({ length: 4_096 }, (_, place) => Math.fround(Math.sin(place + 1) / 64));

/** What the server does instead of answering with vectors. */
export type Trouble = "fails" | "hangs" | "nan" | "zero" | "huge" | "fewer" | "uneven" | "no json" | "other path";

/** The context of a model, and what becomes of longer texts: all of a request is refused, or they are cut silently. */
export interface ModelContext {
  readonly tokens: number;
  /** The status of a refusal; undefined: longer texts are cut. */
  readonly refusal: number | undefined;
}

/** An embeddings server that knows the concepts above. */
export interface EmbeddingsStandIn extends AsyncDisposable {
  readonly url: string;
  /** The requests so far: their models, keys and texts. */
  readonly asked: { readonly model: string; readonly key: string | undefined; readonly texts: readonly string[] }[];
  trouble: Trouble | undefined;
  /** It answers all requests with this status. */
  status: number | undefined;
  /** It redirects to this path of its own, where it answers. */
  redirect: string | undefined;
  /** A text with this word is refused, whether it is sent alone or with others. */
  refused: string | undefined;
  /** Requests with this word are not answered. */
  endless: string | undefined;
  context: ModelContext | undefined;
  /** A request with more texts is refused. */
  textsMax: number;
  /** How long it takes for an answer. */
  delayMs: number;
  /** How much longer for each text of a request. */
  textMs: number;
  /** It embeds so many texts more; requests that have more are answered with 429 and this header Retry-After. */
  limit: { texts: number; readonly retryAfter?: string } | undefined;
  /** Whether vectors have their number: with it they come in any order; null or none, in the order of the texts. */
  numbers: "any order" | "null" | "none";
  /** Vectors have 4,096 numbers with up to 17 digits, each on a line of its own: no server's answers are longer. */
  wide: boolean;
  /** The only value of `encoding_format` that it takes, or none; undefined: it does not look. */
  format: "float" | "none" | undefined;
  client(model?: string, prefixes?: Pick<EmbeddingsSettings, "queryPrefix" | "documentPrefix">): EmbeddingsServer;
}

export async function startEmbeddingsServer(): Promise<EmbeddingsStandIn> {
  const asked: EmbeddingsStandIn["asked"] = [];
  const server: Server = createServer((request, response) => {
    const location = standIn.redirect;
    if (location !== undefined && request.url !== location) return void response.writeHead(308, { location }).end();
    let body = "";
    request.setEncoding("utf8").on("data", (part: string) => (body += part));
    request.on("end", () => {
      const sent = JSON.parse(body) as { model: string; input: string[]; encoding_format?: string };
      const { model, input, encoding_format: format = "none" } = sent;
      asked.push({ model, key: request.headers.authorization, texts: input });
      if (format !== (standIn.format ?? format)) return void response.writeHead(400).end("encoding_format");
      setTimeout(() => answer(response, model, input), standIn.delayMs + standIn.textMs * input.length);
    });
  });
  const answer = (response: ServerResponse, model: string, sent: readonly string[]) => {
    const { trouble, refused, endless, context, textsMax } = standIn;
    if (sent.length > textsMax) return void response.writeHead(400).end("too many texts");
    if (trouble === "hangs" || (endless && sent.some((text) => text.includes(endless)))) return;
    if (standIn.limit && (standIn.limit.texts -= sent.length) < 0) {
      const { retryAfter } = standIn.limit;
      standIn.limit.texts += sent.length;
      return void response.writeHead(429, { ...(retryAfter && { "retry-after": retryAfter }) }).end("too much");
    }
    if (standIn.status !== undefined) return void response.writeHead(standIn.status).end("no");
    if (trouble === "fails" || (refused && sent.some((text) => text.includes(refused)))) {
      return void response.writeHead(500).end("secret-key: no");
    }
    const texts = context ? sent.map((text) => tokensOf(text).slice(0, context.tokens).join("")) : sent;
    if (context?.refusal !== undefined && texts.some((text, place) => text !== sent[place])) {
      return void response.writeHead(context.refusal).end("too long");
    }
    // As LM Studio does.
    if (trouble === "other path") return void response.end('{"error":"Unexpected endpoint or method."}');
    if (trouble === "no json") return void response.end("<html>");
    if (trouble === "huge") return void response.end(`{"data":[${"1,".repeat(200_000)}1]}`);
    const data = texts.map((text, index) => ({ index, embedding: vectorOf(text, model) as unknown[] }));
    if (standIn.wide) for (const item of data) item.embedding = WIDE;
    if (trouble === "nan") data[0]?.embedding.splice(0, 1, "NaN");
    if (trouble === "zero") data[0]?.embedding.fill(0);
    if (trouble === "fewer") data.pop();
    if (trouble === "uneven") data[0]?.embedding.push(1);
    const plain = { null: { index: null }, none: { index: undefined } };
    const { numbers } = standIn;
    const items = numbers === "any order" ? data.toReversed() : data.map((item) => ({ ...item, ...plain[numbers] }));
    response.end(JSON.stringify({ data: items, model }, null, standIn.wide ? 2 : 0));
  };
  const url = `http://127.0.0.1:${await listen(server)}/v1`;
  const standIn: EmbeddingsStandIn = {
    url,
    asked,
    trouble: undefined,
    status: undefined,
    redirect: undefined,
    refused: undefined,
    endless: undefined,
    context: undefined,
    textsMax: 32,
    delayMs: 0,
    textMs: 0,
    limit: undefined,
    numbers: "any order",
    wide: false,
    format: undefined,
    client: (model = "one", prefixes = {}) => new EmbeddingsServer({ url, model, key: "secret-key", ...prefixes }),
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
  return standIn;
}

/** Words in parts of up to five letters; each sign, and each character of another script, is a token of its own. */
const tokensOf = (text: string): string[] => text.match(/ ?[a-z]{1,5}|[^]/giu) ?? [];

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
