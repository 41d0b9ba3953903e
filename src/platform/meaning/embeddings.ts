import { LIMITS } from "../../limits.js";
import { type Meter, measureOutgoing } from "../telemetry/meter.js";
import { type Prefixes, prefixesOf } from "./embedding-prefixes.js";

/** A unit vector in the space of a model: whole numbers from -127 to 127, each to be multiplied by `scale`. */
export interface Vector {
  readonly values: Int8Array;
  readonly scale: number;
}

/** The server that embeds texts. The key is never logged. */
export interface EmbeddingsSettings {
  readonly url: string;
  readonly model: string;
  readonly key: string | undefined;
  /** What to send before texts, if not what the model is known to need. */
  readonly queryPrefix?: string | undefined;
  readonly documentPrefix?: string | undefined;
}

/** What a text is: a question, or what may answer one. */
export type TextUse = "query" | "document";

/** The server gave no vectors. The message says why, without the texts and the key. */
export class EmbeddingsFailed extends Error {}

/** The server is there but refuses these texts: one may be too long. */
export class TextsRefused extends EmbeddingsFailed {}

/** The server may give vectors later, or of fewer texts at once: it was too slow, or a limit is reached. */
export class NotNow extends EmbeddingsFailed {
  constructor(
    message: string,
    /** How long to ask for no more. */
    readonly waitMs: number,
  ) {
    super(message);
  }
}

/**
 * How servers answer when a text is too long: 400 by OpenAI, vLLM and Ollama, 413 or 422 by TEI, 500 by llama.cpp. All
 * of a request is refused then.
 */
const REFUSALS = [400, 413, 422, 500];

const { answerBytesPerText, dimensions, limitedMs, limitedMostMs } = LIMITS.embeddings;

/** A client of a server with OpenAI's embeddings API, which many servers offer. */
export class EmbeddingsServer {
  /** The name of the vectors of documents: the model and, in a second line, the prefix. Others cannot be compared. */
  readonly model: string;
  readonly prefixes: Prefixes;
  readonly #name: string;
  readonly #url: string;
  readonly #headers: Readonly<Record<string, string>>;
  /** How the server wants to be asked for lists of numbers, once it has answered with some. */
  #format: { readonly encoding_format?: string } | undefined;

  constructor(
    { url, model, key, queryPrefix, documentPrefix }: EmbeddingsSettings,
    private readonly meter?: Meter,
  ) {
    const known = prefixesOf(model);
    this.#name = model;
    this.prefixes = { query: queryPrefix ?? known.query, document: documentPrefix ?? known.document };
    this.model = this.prefixes.document === "" ? model : `${model}\n${this.prefixes.document}`;
    this.#url = `${url.replace(/\/+$/, "").replace(/\/embeddings$/, "")}/embeddings`;
    this.#headers = { "content-type": "application/json", ...(key && { authorization: `Bearer ${key}` }) };
  }

  /**
   * Embeds texts by this model; returns their vectors in the same order.
   * @throws EmbeddingsFailed
   */
  embed(texts: readonly string[], use: TextUse, timeoutMs: number, of = this.model): Promise<Vector[]> {
    return measureOutgoing(this.meter, "embeddings", () => this.#embed(texts, use, timeoutMs, of));
  }

  async #embed(texts: readonly string[], use: TextUse, timeoutMs: number, of: string): Promise<Vector[]> {
    const { model, prefix } = this.#sentFor(of, use);
    const input = texts.map((text) => prefix + text);
    try {
      const response = await this.#send({ model, input }, AbortSignal.timeout(timeoutMs));
      if (!response.ok) {
        await response.body?.cancel();
        throw refusalOf(response);
      }
      return vectorsOf(JSON.parse(await readBounded(response, answerBytesPerText * texts.length)), texts.length);
    } catch (error) {
      if (error instanceof EmbeddingsFailed) throw error;
      if ((error as Error).name === "TimeoutError") throw new NotNow("it does not answer in time", 0);
      throw new EmbeddingsFailed(reasonOf(error));
    }
  }

  /** Voyage refuses the format "float", which it uses without being asked; others refuse requests without a format. */
  async #send(request: object, signal: AbortSignal): Promise<Response> {
    const sendIn = async (format: { readonly encoding_format?: string }) => {
      const body = JSON.stringify({ ...request, ...format });
      const response = await fetch(this.#url, { method: "POST", headers: this.#headers, body, signal });
      if (response.ok) this.#format = format;
      return response;
    };
    const known = this.#format;
    const response = await sendIn(known ?? { encoding_format: "float" });
    if (response.status !== 400 || known) return response;
    await response.body?.cancel();
    return sendIn({});
  }

  /** Earlier vectors are used until all are made anew: those of another model, or by another prefix. */
  #sentFor(of: string, use: TextUse): { readonly model: string; readonly prefix: string } {
    const [model = of] = of.split("\n", 1);
    if (use === "document") return { model, prefix: of.slice(model.length + 1) };
    return { model, prefix: (model === this.#name ? this.prefixes : prefixesOf(model)).query };
  }
}

function refusalOf({ headers, redirected, status, url }: Response): EmbeddingsFailed {
  // Of a redirect to another server, fetch leaves out the key; after 301 and 302 it sends no texts.
  const { origin, pathname } = new URL(url);
  const message = `it answers ${status}${redirected ? ` after a redirect to ${origin}${pathname}` : ""}`;
  if (status === 429) return new NotNow(message, waitOf(headers.get("retry-after")));
  return REFUSALS.includes(status) ? new TextsRefused(message) : new EmbeddingsFailed(message);
}

/** By the header Retry-After, which has seconds or a date (RFC 9110, 10.2.3). */
function waitOf(retryAfter: string | null): number {
  const ms = Number(retryAfter ?? Number.NaN) * 1_000;
  const wait = Number.isNaN(ms) ? Date.parse(retryAfter ?? "") - Date.now() : ms;
  return Number.isNaN(wait) ? limitedMs : Math.min(limitedMostMs, Math.max(1_000, wait));
}

function reasonOf(error: unknown): string {
  if (error instanceof SyntaxError) return "its answer is not JSON";
  const { name, cause } = error as Error & { cause?: { code?: string } };
  return `it cannot be reached (${cause?.code ?? name})`;
}

async function readBounded(response: Response, bytesMax: number): Promise<string> {
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  for await (const chunk of response.body ?? []) {
    bytes += (chunk as Uint8Array).length;
    if (bytes > bytesMax) throw new EmbeddingsFailed("its answer is too large");
    chunks.push(chunk as Uint8Array);
  }
  return Buffer.concat(chunks).toString("utf8");
}

function vectorsOf(answer: unknown, count: number): Vector[] {
  const { data } = (answer ?? {}) as { data?: unknown };
  if (!Array.isArray(data) || data.length !== count)
    throw new EmbeddingsFailed("its answer has no vector for each text");
  const vectors = Array.from({ length: count }, (): Vector | undefined => undefined);
  for (const [place, item] of data.entries()) {
    const { index, embedding } = (item ?? {}) as { index?: unknown; embedding?: unknown };
    vectors[Number(index ?? place)] = toVector(embedding);
  }
  const size = vectors[0]?.values.length;
  return vectors.slice(0, count).map((vector) => {
    if (vector && vector.values.length === size) return vector;
    throw new EmbeddingsFailed("its vectors differ in dimension, or one is missing");
  });
}

function toVector(embedding: unknown): Vector {
  const isList = Array.isArray(embedding) && embedding.length > 0 && embedding.length <= dimensions;
  if (!isList) throw new EmbeddingsFailed(`it answers no vectors of 1 to ${dimensions} numbers`);
  const numbers = embedding as readonly unknown[];
  let [squares, most] = [0, 0];
  for (const number of numbers) {
    if (typeof number !== "number") throw new EmbeddingsFailed("its vectors have what is no number");
    squares += number * number;
    most = Math.max(most, Math.abs(number));
  }
  const scale = most / Math.sqrt(squares) / 127;
  if (!Number.isFinite(scale) || scale <= 0) throw new EmbeddingsFailed("it answers a vector without a direction");
  return { values: Int8Array.from(numbers as readonly number[], (number) => Math.round((number / most) * 127)), scale };
}
