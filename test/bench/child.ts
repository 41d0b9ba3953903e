import type pg from "pg";
import { type Shares, beginProfile, endProfile } from "./profile.js";
import type { Statements } from "./statements.js";

/** What a server is told to start. */
export interface Order {
  readonly databaseUrl: string;
  /** The settings of its connections to the database. */
  readonly pool: Pick<pg.PoolConfig, "max" | "options" | "statement_timeout">;
  readonly statements: Statements;
}

/** The CPU and memory that it has used so far. */
export interface Usage {
  readonly cpuMicroseconds: number;
  readonly memoryBytes: number;
}

export type Question = { readonly start: Order } | { readonly usage: true } | { readonly profile: "begin" | "end" };
export type Answer = { readonly port: number } | Usage | Shares;

/** Makes this process one of the compared servers: it starts when its parent says so, and ends with its parent. */
export function serve(start: (order: Order) => Promise<number>): void {
  process.on("message", (question: Question) => {
    if ("start" in question) void start(question.start).then((port) => tell({ port }));
    else if ("usage" in question) tell(usage());
    else if (question.profile === "begin") void beginProfile().then(() => tell(usage()));
    else void endProfile().then(tell);
  });
  process.on("disconnect", () => process.exit());
}

function usage(): Usage {
  const { user, system } = process.cpuUsage();
  return { cpuMicroseconds: user + system, memoryBytes: process.memoryUsage.rss() };
}

const tell = (answer: Answer): void => void process.send?.(answer);
