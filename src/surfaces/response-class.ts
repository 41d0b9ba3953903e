import { type IncomingMessage, ServerResponse } from "node:http";
import { closeAfterAnswer } from "./closing.js";
import type { Connections } from "./connections.js";
import type { HttpLimits } from "./http-limits.js";
import { expectsInvitation } from "./request-head.js";

/** How much of a large answer is written at once. */
const PIECE_BYTES = 65_536;

interface AnswerParts {
  readonly limits: HttpLimits;
  readonly behindProxies: boolean;
  /** Whether the server is stopping. Then each answer closes its connection, so that no request comes too late. */
  isStopping(): boolean;
  connections(): Connections;
}

/** The class of a server's answers: they wait for their clients in bounded memory, and close connections in time. */
export function responseClass({ limits, behindProxies, isStopping, connections }: AnswerParts): typeof ServerResponse {
  class AppResponse extends ServerResponse {
    #isInvited = false;

    override writeContinue(...args: []): void {
      this.#isInvited = true;
      super.writeContinue(...args);
    }

    /**
     * Discards what is left of the request's body; closes the connection if that may be large, or never come: then the
     * next request, which a proxy may have from somebody else, would be read as the body.
     */
    override writeHead(status: number, ...rest: []): this {
      if (!this.req.complete) {
        this.req.resume();
        if (mayBeTooLong(this.req, limits) || (expectsInvitation(this.req) && !this.#isInvited)) {
          this.setHeader("Connection", "close");
          closeAfterAnswer(this.req, limits);
        }
      }
      if (isStopping() || connections().isOverLimit(this.req.socket)) this.setHeader("Connection", "close");
      // Otherwise Node adds `Keep-Alive` with a time that holds for the proxy alone. HAProxy passes it on, and clients
      // would keep their connections to the proxy for so long.
      else if (
        behindProxies &&
        this.shouldKeepAlive &&
        this.useChunkedEncodingByDefault &&
        !this.hasHeader("Connection")
      )
        this.setHeader("Connection", "keep-alive");
      return super.writeHead(status, ...rest);
    }

    /** Counts large parts of a streamed answer as unsent: they wait in memory until the client has read them. */
    override write(...args: readonly unknown[]): boolean {
      const hasRoom = super.write(...(args as [string]));
      const [data] = args;
      if (isLarge(data) && !hasRoom) connections().trackUnsent(this.req.socket, this, Buffer.byteLength(data), "drain");
      return hasRoom;
    }

    /** Writes a large answer in pieces as the client reads it, so that a client that stops reading is noticed. */
    override end(...args: readonly unknown[]): this {
      this.emit("answered");
      const [data] = args;
      if (!isLarge(data) || this.req.method === "HEAD") return super.end(...(args as []));
      const bytes = Buffer.isBuffer(data) ? data : Buffer.from(data);
      if (!this.headersSent && !this.hasHeader("Content-Length")) this.setHeader("Content-Length", bytes.length);
      connections().trackUnsent(this.req.socket, this, bytes.length);
      this.#endInPieces(bytes, 0);
      return this;
    }

    #endInPieces(bytes: Buffer, from: number): void {
      for (let at = from; !this.destroyed; at += PIECE_BYTES) {
        const piece = bytes.subarray(at, at + PIECE_BYTES);
        if (at + PIECE_BYTES >= bytes.length) return void super.end(piece);
        if (!this.write(piece)) return void this.once("drain", () => this.#endInPieces(bytes, at + PIECE_BYTES));
      }
    }
  }
  // Its request is always the server's own, which Node's types cannot express.
  return AppResponse as typeof ServerResponse;
}

const isLarge = (data: unknown): data is string | Uint8Array =>
  (typeof data === "string" || data instanceof Uint8Array) && data.length > PIECE_BYTES;

const mayBeTooLong = ({ headers }: IncomingMessage, { bodyBytes }: HttpLimits): boolean =>
  headers["transfer-encoding"] !== undefined || Number(headers["content-length"] ?? 0) > bodyBytes;
