import type { Server } from "node:http";
import type { Socket } from "node:net";

/** The smallest request has 18 bytes, so a slice holds some 200 of them at most. */
const SLICE_BYTES = 4_096;

/**
 * Hands the parser what a connection brings in small slices. Otherwise it parses a whole read of 64 KiB at once, which
 * may hold more than 3,000 requests, before the connection can be closed for sending too many. Between two slices a
 * closed connection is noticed.
 */
export function readInSlices(server: Server): void {
  server.on("connection", (socket: Socket) => {
    const [parse] = socket.listeners("data");
    if (!parse) throw new Error("Node does not read connections as it did: its parser listens to no data.");
    socket.removeListener("data", parse as () => void);
    socket.on("data", (bytes: Buffer) => {
      for (let at = 0; at < bytes.length && !socket.destroyed; at += SLICE_BYTES) {
        parse.call(socket, bytes.subarray(at, at + SLICE_BYTES));
      }
    });
  });
}
