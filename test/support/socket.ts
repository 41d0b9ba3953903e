import { type Socket, connect } from "node:net";

/** Sends these bytes unchanged, and returns everything that the server answers. */
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

/** A connection whose bytes a test sends and reads itself. Its errors are ignored. */
export function openConnection(url: string): Socket {
  const { hostname, port } = new URL(url);
  return connect(Number(port), hostname)
    .on("error", () => {})
    .setMaxListeners(0);
}

/** Everything that arrives until the connection is closed. */
export async function untilClosed(socket: Socket): Promise<string> {
  const chunks: Buffer[] = [];
  socket.on("data", (chunk: Buffer) => chunks.push(chunk));
  await new Promise((done) => socket.once("close", done));
  return Buffer.concat(chunks).toString();
}

/** The next data of an answer, complete or not. */
export const nextAnswer = (socket: Socket): Promise<string> =>
  new Promise((done) => {
    socket.once("data", (chunk: Buffer) => done(chunk.toString()));
    socket.once("close", () => done(""));
  });

/** What a raw answer says: its status, whether the connection ends after it, and its error. */
export function saidIn(answer: string) {
  const [head = "", body = ""] = answer.split("\r\n\r\n");
  const { error } = (body.startsWith("{") ? JSON.parse(body) : {}) as { error?: { code: string; reason?: string } };
  return {
    status: Number(/^HTTP\/1\.1 (\d+)/.exec(head)?.[1]),
    closes: /^connection: close/im.test(head),
    ...(error ? { why: error.reason ?? error.code } : {}),
  };
}
