import type { Server } from "node:http";
import type { Socket } from "node:net";

/** The smallest request has 18 bytes, so a slice holds some 200 of them at most. */
const SLICE_BYTES = 4_096;

/**
 * Hands the parser what a connection brings in small slices. Left to itself it parses all that was read at once, 64 KiB,
 * and makes a request of each 18 bytes before anybody can say that these are too many: some thousand a connection, at a
 * cost that everybody waits for. Between two slices it counts that the connection has been closed.
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
