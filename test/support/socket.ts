import { connect } from "node:net";

/** Sends these bytes as they are and answers with all that comes back until the server has no more to say. */
export function exchange(url: string, bytes: string | Uint8Array, { silenceMs = 1_000 } = {}): Promise<string> {
  const { hostname, port } = new URL(url);
  return new Promise((resolve, reject) => {
    const socket = connect(Number(port), hostname);
    const answer: Buffer[] = [];
    socket.on("data", (chunk) => answer.push(chunk));
    socket.setTimeout(silenceMs, () => socket.destroy());
    socket.once("error", reject);
    socket.once("close", () => resolve(Buffer.concat(answer).toString()));
    socket.write(bytes);
  });
}
