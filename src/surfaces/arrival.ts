import { IncomingMessage } from "node:http";

/** A request that knows when its head had arrived: it may wait for its turn before anything else happens to it. */
export class ArrivedRequest extends IncomingMessage {
  readonly arrivedAt = performance.now();
}

/** Every request of the service's server is an `ArrivedRequest`; Express's types do not know that. */
export const arrivalOf = (request: IncomingMessage): number => (request as ArrivedRequest).arrivedAt;
