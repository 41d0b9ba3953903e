import type { Transform } from "node:stream";
import { createBrotliDecompress, createGunzip, createInflate } from "node:zlib";
import type { Handler, Request } from "express";
import { LIMITS } from "../limits.js";
import { Failure, InvalidInput } from "../operation/failure.js";
import { scopeOf } from "./http.js";

export class BodyTooLarge extends Failure {
  static readonly example = new BodyTooLarge(LIMITS.http.bodyBytes);
  readonly kind = "payload_too_large";

  constructor(bytes: number) {
    super(
      `A body may have at most ${bytes.toLocaleString("en")} bytes, counted after decompression. Send less at once.`,
    );
  }
}

export class UnsupportedEncoding extends Failure {
  readonly kind = "unsupported_media_type";

  constructor() {
    super("The body's encoding is not supported: use gzip, deflate, br or none.");
  }
}

/** How each `Content-Encoding` is undone. */
const DECODERS = new Map<string, () => Transform>([
  ["gzip", createGunzip],
  ["deflate", createInflate],
  ["br", createBrotliDecompress],
]);

/** Whether the request has a body, be it of unknown length. */
export const hasBody = ({ headers }: Pick<Request, "headers">): boolean =>
  headers["transfer-encoding"] !== undefined || (headers["content-length"] ?? "0") !== "0";

/** Reads the body's bytes, decompressed, and begins the request's work; what they mean is for `jsonBody` to say. */
export const readBodyUpTo =
  (limit: number): Handler =>
  async (request: Request & { body?: unknown }, response, next) => {
    const { work } = scopeOf(response);
    if (hasBody(request)) request.body = await bytesOf(request, { limit, hold: work.holdBody(response) });
    work.begin(response, next);
  };

export const readBody: Handler = readBodyUpTo(LIMITS.http.bodyBytes);

interface Bounds {
  readonly limit: number;
  /** Is told of bytes before they are kept. */
  hold(bytes: number): void;
}

/**
 * What is too large is refused as soon as that is known, and not read on: what becomes of the rest is for the server.
 * @throws BodyTooLarge when the body is larger than `limit`, as it comes or decompressed.
 * @throws InvalidInput when it breaks off, or is not compressed as it claims.
 */
async function bytesOf(request: Request, bounds: Bounds): Promise<Buffer> {
  const { limit } = bounds;
  if (Number(request.headers["content-length"] ?? 0) > limit) throw new BodyTooLarge(limit);
  const encoding = (request.headers["content-encoding"] ?? "identity").toLowerCase();
  if (encoding === "identity") return collect(request, undefined, bounds);
  const decoder = DECODERS.get(encoding)?.();
  if (!decoder) throw new UnsupportedEncoding();
  try {
    return await collect(request, decoder, bounds);
  } finally {
    request.unpipe(decoder);
    decoder.on("error", () => {}).destroy();
  }
}

function collect(request: Request, decoder: Transform | undefined, { limit, hold }: Bounds): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = [];
    let length = 0;
    let received = 0;
    const settle = (outcome: () => void) => {
      request.off("data", receive).off("end", end).off("close", breakOff).off("error", breakOff).pause();
      outcome();
    };
    const refuse = (failure: Error) => settle(() => reject(failure));
    const breakOff = () =>
      refuse(new InvalidInput([{ path: "", message: "The body ended before it was complete. Send it again." }]));
    const keep = (chunk: Buffer) => {
      if ((length += chunk.length) > limit) return refuse(new BodyTooLarge(limit));
      try {
        hold(chunk.length);
        chunks.push(chunk);
      } catch (error) {
        refuse(error as Failure);
      }
    };
    // What comes in is counted too: it may decompress to nothing, for ever.
    const receive = (chunk: Buffer) => {
      if (!decoder) keep(chunk);
      else if ((received += chunk.length) > limit) refuse(new BodyTooLarge(limit));
    };
    const end = () => {
      // What was received has still to be decompressed.
      request.off("close", breakOff);
      if (!decoder) settle(() => resolve(chunks.length === 1 && chunks[0] ? chunks[0] : Buffer.concat(chunks, length)));
    };
    request.on("data", receive).on("end", end).on("close", breakOff).on("error", breakOff);
    if (!decoder) return;
    const misread = () =>
      refuse(new InvalidInput([{ path: "", message: "The body is not compressed as its Content-Encoding says." }]));
    decoder.on("data", keep).on("error", misread);
    decoder.on("end", () => settle(() => resolve(Buffer.concat(chunks, length))));
    request.pipe(decoder);
  });
}
