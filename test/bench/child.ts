import type pg from "pg";
import type { Statements } from "./statements.js";

/** What a server is told when it is to start. */
export interface Order {
  readonly databaseUrl: string;
  /** How the service connects to it. */
  readonly pool: Pick<pg.PoolConfig, "max" | "options" | "statement_timeout">;
  readonly statements: Statements;
}

/** What it has used so far. */
export interface Usage {
  readonly cpuMicroseconds: number;
  readonly memoryBytes: number;
}

export type Question = { readonly start: Order } | { readonly usage: true };
export type Answer = { readonly port: number } | Usage;

/** Makes this process one of the servers that are compared: it starts when it is told to, and ends with its parent. */
export function serve(start: (order: Order) => Promise<number>): void {
  process.on("message", (question: Question) => {
    if ("start" in question) void start(question.start).then((port) => tell({ port }));
    else tell(usage());
  });
  process.on("disconnect", () => process.exit());
}

function usage(): Usage {
  const { user, system } = process.cpuUsage();
  return { cpuMicroseconds: user + system, memoryBytes: process.memoryUsage.rss() };
}

const tell = (answer: Answer): void => void process.send?.(answer);
