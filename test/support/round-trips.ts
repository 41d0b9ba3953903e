import { once } from "node:events";
import { type AddressInfo, connect, createServer } from "node:net";

/** A proxy to the database that counts what passes through it. */
export interface CountedWay extends AsyncDisposable {
  readonly url: string;
  /** How often the client sent something and then waited for the answer. */
  readonly trips: number;
  /** How many bytes the database sent. */
  readonly bytes: number;
}

export async function countTrips(target: string): Promise<CountedWay> {
  const { hostname, port } = new URL(target);
  let [trips, answered] = [0, 0];
  const server = createServer((near) => {
    const far = connect(Number(port), hostname);
    let isAnswered = true;
    near.on("data", (bytes) => {
      if (isAnswered) trips++;
      isAnswered = false;
      far.write(bytes);
    });
    far.on("data", (bytes) => {
      isAnswered = true;
      answered += bytes.length;
      near.write(bytes);
    });
    for (const socket of [near, far]) socket.on("error", () => {}).on("close", () => (near.destroy(), far.destroy()));
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  const url = new URL(target);
  url.host = `127.0.0.1:${(server.address() as AddressInfo).port}`;
  return {
    url: url.href,
    get trips() {
      return trips;
    },
    get bytes() {
      return answered;
    },
    [Symbol.asyncDispose]: async () => void server.close(),
  };
}
