import type { Server } from "node:http";
import type { Socket } from "node:net";

/** The smallest request has 18 bytes, so a slice holds at most about 200 of them. */
const SLICE_BYTES = 4_096;

/**
 * Passes input to the HTTP parser in small slices, and stops when the connection is closed. Otherwise the parser would
 * handle a read of 64 KiB, which may hold more than 3,000 requests, before the connection could be closed for sending
 * too many.
 */
export function readInSlices(server: Server): void {
  server.on("connection", (socket: Socket) => {
    const [parse] = socket.listeners("data");
    if (!parse) throw new Error("This version of Node is not supported: its HTTP parser has no listener for data.");
    socket.removeListener("data", parse as () => void);
    socket.on("data", (bytes: Buffer) => {
      for (let at = 0; at < bytes.length && !socket.destroyed; at += SLICE_BYTES) {
        parse.call(socket, bytes.subarray(at, at + SLICE_BYTES));
      }
    });
  });
}
