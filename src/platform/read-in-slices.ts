import type { Server } from "node:http";
import type { Socket } from "node:net";

/** The smallest request has 18 bytes, so a slice holds at most about 200 of them. */
const SLICE_BYTES = 4_096;

interface Slices {
  readonly bytes?: number;
  /** Whether the rest of the input is ignored, though the connection is still open. */
  hasEnough?(socket: Socket): boolean;
}

/**
 * Passes input to the HTTP parser in small slices, and stops when the connection is closed. Otherwise the parser would
 * handle a read of 64 KiB, which may hold more than 3,000 requests, before the connection could be closed for sending
 * too many.
 */
export function readInSlices(
  server: Server,
  { bytes: size = SLICE_BYTES, hasEnough = () => false }: Slices = {},
): void {
  server.on("connection", (socket: Socket) => {
    const [parse] = socket.listeners("data");
    if (!parse) throw new Error("This version of Node is not supported: its HTTP parser has no listener for data.");
    socket.removeListener("data", parse as () => void);
    // Node removes its listener when it gives up the connection, as for CONNECT: then an error would end the process.
    socket.on("error", () => {});
    socket.on("data", (bytes: Buffer) => {
      for (let at = 0; at < bytes.length && !socket.destroyed && !hasEnough(socket); at += size) {
        // Node pauses a connection whose client does not read its answers. If more of it were parsed, an assertion of
        // Node would end the process.
        if (socket.isPaused()) return socket.unshift(bytes.subarray(at));
        // It is closing, and was resumed only so that the rest is discarded.
        if (isPausedByNode(socket) || !hasParser(socket)) return;
        parse.call(socket, bytes.subarray(at, at + size));
      }
    });
  });
}

/** After CONNECT there is none: the parser that the connection had may already be that of another client. */
const hasParser = (socket: Socket): boolean => Boolean((socket as { readonly parser?: unknown }).parser);

/** Node's own mark, which only Node takes back. */
const isPausedByNode = (socket: Socket): boolean => (socket as { readonly _paused?: boolean })._paused === true;
