import type { Transform } from "node:stream";
import { createGunzip, createInflate } from "node:zlib";
import type { Handler, Request } from "express";
import { LIMITS } from "../limits.js";
import { Failure, InvalidInput } from "../operation/failure.js";
import type { HeldBody } from "./bodies.js";
import { UnsupportedMediaType, claimsJson, isRead } from "./http.js";
import { expectsInvitation } from "./request-head.js";
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

export class TooManyPieces extends Failure {
  readonly kind = "payload_too_large";
  override readonly reason = "too_many_pieces";

  constructor() {
    super(
      `A body may come in at most ${LIMITS.http.bodyPieces.toLocaleString("en")} pieces, such as chunks. ` +
        "Send larger ones.",
    );
  }
}

export class UnsupportedEncoding extends Failure {
  readonly kind = "unsupported_media_type";

  constructor() {
    super("The body's encoding is not supported: use gzip, deflate or none.");
  }
}

/**
 * The decoder for each `Content-Encoding`: these take up to 90 kB beside the body. Brotli's takes a megabyte for 1,400
 * bytes, which nobody counts: 400 unfinished bodies without a key grew the process by 325 MB.
 */
const DECODERS = new Map<string, () => Transform>([
  ["gzip", createGunzip],
  ["deflate", createInflate],
]);

/** Whether the request has a body, also one of unknown length. */
const hasBody = ({ headers }: Pick<Request, "headers">): boolean =>
  headers["transfer-encoding"] !== undefined || (headers["content-length"] ?? "0") !== "0";

/** @throws UnsupportedMediaType when the request has a body that is not declared as JSON. */
export function assertBodyIsJson(request: Request): void {
  if (hasBody(request) && !claimsJson(request)) throw new UnsupportedMediaType();
}

/** Reads and decompresses the body, then starts the request's work. `jsonBody` parses the bytes. */
export const readBodyUpTo =
  (limit: number): Handler =>
  async (request: Request & { body?: unknown }, response, next) => {
    const { work, span, caller, waits, admitLarge, account } = scopeOf(response);
    const invite = () => expectsInvitation(request) && response.writeContinue();
    const hold: Bounds["hold"] = (refuse) => work.holdBody(response, account, refuse);
    // The body of a GET means nothing (RFC 9110, 9.3.1). It must be short, and nothing of it is kept: a client that
    // reads an export slowly would keep its memory for hours.
    const isIgnored = isRead(request);
    if (hasBody(request)) {
      const client = waits.of("client");
      let bytes: Buffer;
      client.start();
      try {
        bytes = await bytesOf(request, { limit: isIgnored ? LIMITS.http.ignoredBodyBytes : limit, invite, hold });
      } finally {
        client.stop();
      }
      if (!isIgnored) {
        request.body = bytes;
        // A client that reads its answer slowly would keep it, too.
        response.once("answered", () => (request.body = undefined));
        if (work.isLarge(bytes.length)) await admitLarge();
      }
    }
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
  /** Called once, before any bytes. */
  hold(refuse: (failure: Failure) => void): HeldBody;
}

/**
 * Reads the body. Stops as soon as the body is known to be too large; the server discards the rest.
 * @throws BodyTooLarge when the body is larger than `limit`, compressed or decompressed.
 * @throws UnsupportedEncoding when it is compressed in another way than `DECODERS` can read.
 * @throws TooManyPieces when it comes in tiny pieces.
 * @throws Unavailable when there is no memory for it.
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
    const held = hold((failure) => refuse(failure));
    const body = new GrowingBuffer(limit, held);
    let [received, pieces] = [0, 0];
    let isOver = false;
    const settle = (outcome: () => void) => {
      // Not its "error", which may come later: without a listener it would end the process.
      request.off("data", receive).off("end", end).off("close", breakOff).pause();
      outcome();
    };
    const accept = () => {
      isOver = true;
      held.complete();
      resolve(body.take());
    };
    const refuse = (failure: Error) => {
      // A client may leave while its body is worked on.
      if (isOver) return;
      isOver = true;
      held.free();
      body.take();
      settle(() => reject(failure));
    };
    const breakOff = () => refuse(InvalidInput.at("", "The body ended before it was complete. Send it again."));
    const keep = (chunk: Buffer) => {
      if (body.length + chunk.length > limit) return refuse(new BodyTooLarge(limit));
      try {
        body.add(chunk);
      } catch (error) {
        refuse(error as Failure);
      }
    };
    // The compressed bytes are counted too: an endless body may decompress to nothing.
    const receive = (chunk: Buffer) => {
      if (++pieces > LIMITS.http.bodyPieces) refuse(new TooManyPieces());
      else if (!decoder) keep(chunk);
      else if ((received += chunk.length) > limit) refuse(new BodyTooLarge(limit));
    };
    const end = () => {
      // The decoder may still have bytes to decompress, so a closed connection is no error from here on.
      request.off("close", breakOff);
      // Nothing more comes, so the other listeners may stay.
      if (!decoder) accept();
    };
    request.on("data", receive).on("end", end).on("close", breakOff).on("error", breakOff);
    if (!decoder) return;
    const refuseCorrupt = () => refuse(InvalidInput.at("", "The body is not compressed as its Content-Encoding says."));
    decoder.on("data", keep).on("error", refuseCorrupt);
    decoder.on("end", () => settle(accept));
    request.pipe(decoder);
  });
}

/**
 * Bytes in one buffer, which takes at most twice as much memory. In a list, each piece of one byte would take hundreds:
 * ten bodies of a megabyte, sent so, took 3 GB.
 */
class GrowingBuffer {
  #bytes: Buffer = Buffer.alloc(0);
  length = 0;

  constructor(
    private readonly limit: number,
    private readonly held: HeldBody,
  ) {}

  /** Adds a piece that fits within the limit. @throws Unavailable when there is no memory for it. */
  add(piece: Buffer): void {
    const length = this.length + piece.length;
    if (length > this.#bytes.length) this.#grow(length);
    piece.copy(this.#bytes, this.length);
    this.length = length;
  }

  #grow(length: number): void {
    const size = Math.max(length, Math.min(this.limit, 2 * this.#bytes.length));
    this.held.take(size - this.#bytes.length);
    const larger = Buffer.allocUnsafe(size);
    this.#bytes.copy(larger, 0, 0, this.length);
    this.#bytes = larger;
  }

  /** Returns the bytes and forgets them: a request may stay until its client has sent everything, or read the answer. */
  take(): Buffer {
    const bytes = this.#bytes.subarray(0, this.length);
    this.#bytes = Buffer.alloc(0);
    this.length = 0;
    return bytes;
  }
}

/** The fields of a form that was sent. */
export const formIn = ({ body }: Request & { body?: unknown }): URLSearchParams =>
  new URLSearchParams(Buffer.isBuffer(body) ? body.toString() : "");
