/** What is counted and timed while the service runs. */
export interface Meter {
  request(facts: RequestFacts): void;
  /** A request failed since the service was unavailable, for this reason. */
  unavailable(why: string): void;
  /** A request or a use was refused, by the budget of this name. */
  refused(budget: string): void;
  /** Redis did not answer: this process counted for itself. */
  redisFallback(): void;
  /** The replica failed, and is left alone for a while; or it is too far behind, asked once a second. */
  replicaFailed(): void;
  choreDone(name: string, at: Date): void;
  mail(outcome: MailOutcome): void;
  /** The embeddings server gave no vectors: for memories, or for a query. */
  embeddingsFailed(): void;
  /** A request to another server took this long, whether it succeeded or failed. */
  outgoing(to: Outgoing, seconds: number): void;
}

/** What the service sends requests to, besides its databases. */
export type Outgoing = "mail" | "stripe" | "embeddings";

/** Measures a request to another server. */
export async function measureOutgoing<T>(meter: Meter | undefined, to: Outgoing, work: () => Promise<T>): Promise<T> {
  const startedAt = performance.now();
  try {
    return await work();
  } finally {
    meter?.outgoing(to, (performance.now() - startedAt) / 1_000);
  }
}

/**
 * The outcome of an attempt to send a mail: `refused` permanently by the mail server, `given_up` after failing for too
 * long.
 */
export type MailOutcome = "sent" | "retried" | "refused" | "given_up";

export interface RequestFacts {
  readonly door: "rest" | "graphql" | "mcp" | "page";
  /** The operations that ran; names of the schema, never what a client sent. */
  readonly operations: readonly string[];
  /** The reason of the first failure, else `ok`; `aborted` if the client did not read the answer to its end. */
  readonly outcome: string;
  /** Without the time in which the client sent its body or read the answer. */
  readonly seconds: number;
  /** What it waited for, and how long; some waits are parts of others, or at the same time. */
  readonly waits: Iterable<readonly [what: string, ms: number]>;
}
