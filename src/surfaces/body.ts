import type { Transform } from "node:stream";
import { createBrotliDecompress, createGunzip, createInflate } from "node:zlib";
import type { Handler, Request } from "express";
import { LIMITS } from "../limits.js";
import { Failure, InvalidInput } from "../operation/failure.js";
import { scopeOf } from "./request-scope.js";

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

/** The decoder for each `Content-Encoding`. */
const DECODERS = new Map<string, () => Transform>([
  ["gzip", createGunzip],
  ["deflate", createInflate],
  ["br", createBrotliDecompress],
]);

/** Whether the request has a body, also one of unknown length. */
export const hasBody = ({ headers }: Pick<Request, "headers">): boolean =>
  headers["transfer-encoding"] !== undefined || (headers["content-length"] ?? "0") !== "0";

/** Whether the client sends its body only after `100 Continue` (RFC 9110, 10.1.1), or after a wait of its own. */
const expectsInvitation = ({ headers, httpVersion }: Request): boolean =>
  httpVersion !== "1.0" && /\b100-continue\b/i.test(headers.expect ?? "");

/** Reads and decompresses the body, then starts the request's work. `jsonBody` parses the bytes. */
export const readBodyUpTo =
  (limit: number): Handler =>
  async (request: Request & { body?: unknown }, response, next) => {
    const { work, span, caller, waits } = scopeOf(response);
    const invite = () => expectsInvitation(request) && response.writeContinue();
    if (hasBody(request)) request.body = await bytesOf(request, { limit, invite, hold: work.holdBody(response) });
    const turn = waits.of("turn");
    turn.start();
    const begin = () => {
      turn.stop();
      next();
    };
    work.begin(response, span ? span.bind(begin) : begin, caller?.userId);
  };

export const readBody: Handler = readBodyUpTo(LIMITS.http.bodyBytes);

interface Bounds {
  readonly limit: number;
  /** Called when the body will be read: nothing but its bytes can be refused. */
  invite(): void;
  /** Called before bytes are kept. */
  hold(bytes: number): void;
}

/**
 * Reads the body. Stops as soon as the body is known to be too large; the server discards the rest.
 * @throws BodyTooLarge when the body is larger than `limit`, compressed or decompressed.
 * @throws InvalidInput when it is incomplete, or not compressed as its header says.
 */
async function bytesOf(request: Request, bounds: Bounds): Promise<Buffer> {
  const { limit, invite } = bounds;
  if (Number(request.headers["content-length"] ?? 0) > limit) throw new BodyTooLarge(limit);
  const encoding = (request.headers["content-encoding"] ?? "identity").toLowerCase();
  const decoder = DECODERS.get(encoding)?.();
  if (!decoder && encoding !== "identity") throw new UnsupportedEncoding();
  invite();
  if (!decoder) return collect(request, undefined, bounds);
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
    // The compressed bytes are counted too: an endless body may decompress to nothing.
    const receive = (chunk: Buffer) => {
      if (!decoder) keep(chunk);
      else if ((received += chunk.length) > limit) refuse(new BodyTooLarge(limit));
    };
    const end = () => {
      // The decoder may still have bytes to decompress, so a closed connection is no error from here on.
      request.off("close", breakOff);
      // Nothing more comes, so the other listeners may stay.
      if (!decoder) resolve(chunks.length === 1 && chunks[0] ? chunks[0] : Buffer.concat(chunks, length));
    };
    request.on("data", receive).on("end", end).on("close", breakOff).on("error", breakOff);
    if (!decoder) return;
    const refuseCorrupt = () =>
      refuse(new InvalidInput([{ path: "", message: "The body is not compressed as its Content-Encoding says." }]));
    decoder.on("data", keep).on("error", refuseCorrupt);
    decoder.on("end", () => settle(() => resolve(Buffer.concat(chunks, length))));
    request.pipe(decoder);
  });
}

/** The fields of a form that was sent. */
export const formIn = ({ body }: Request & { body?: unknown }): URLSearchParams =>
  new URLSearchParams(Buffer.isBuffer(body) ? body.toString() : "");

/** The code in a form. People copy codes with spaces, and mobile keyboards add them. */
export const codeIn = (form: URLSearchParams): string => (form.get("code") ?? "").replaceAll(/[\s-]/g, "");
