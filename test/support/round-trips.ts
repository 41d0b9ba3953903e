import { type TcpProxy, endTogether, startTcpProxy } from "./tcp-proxy.js";

/** A proxy to the database that counts what passes through it. */
export interface CountedWay extends TcpProxy {
  /** How often the client sent something and then waited for the answer. */
  readonly trips: number;
  /** How many bytes the database sent. */
  readonly bytes: number;
}

export async function countTrips(target: string): Promise<CountedWay> {
  let [trips, answered] = [0, 0];
  const proxy = await startTcpProxy(target, (near, far) => {
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
    endTogether(near, far);
  });
  return {
    ...proxy,
    get trips() {
      return trips;
    },
    get bytes() {
      return answered;
    },
  };
}
