import type { Socket } from "node:net";
import { type TcpProxy, endTogether, startTcpProxy } from "./tcp-proxy.js";

/**
 * How a statement fails. `lost`: its connection breaks before PostgreSQL gets it. `unanswered`: its connection breaks
 * after PostgreSQL executed it. `gone`: it succeeds, but its client disconnects. `late`: it waits for what others do
 * first. Otherwise PostgreSQL refuses it with this SQLSTATE.
 */
export type StatementFault = "lost" | "unanswered" | "gone" | "late" | "40001" | "40P01" | "53100" | "57014";

interface Others {
  disconnect?(): void;
  meanwhile?(): Promise<void>;
}

/** A proxy to PostgreSQL that reads its protocol, so that any statement can fail. */
export interface FailingStatements extends TcpProxy {
  /** Lets one statement fail, counted over all connections; the next one is 1. */
  fail(fault: StatementFault, number: number): void;
  /** Lets no statement fail any more. Returns the text of the one that failed, or undefined. */
  stop(): string | undefined;
}

/** `disconnect` is called when a client is to be gone, `meanwhile` before a statement that is late. */
export async function failStatements(
  target: string,
  { disconnect = () => {}, meanwhile = async () => {} }: Others = {},
): Promise<FailingStatements> {
  let next: { readonly fault: StatementFault; left: number } | undefined;
  let failed: string | undefined;
  const choose = (text: string): StatementFault | undefined => {
    if (!next || failed !== undefined) return undefined;
    // Only its connection can let a BEGIN fail; the first statement is sent right behind it.
    const isImmune = text === "BEGIN" && /^\d/.test(next.fault);
    if (isImmune || --next.left > 0) return undefined;
    failed = text;
    if (next.fault !== "gone") return next.fault;
    disconnect();
    return undefined;
  };
  const proxy = await startTcpProxy(target, (near, far) => {
    endTogether(near, far);
    forward(near, far, choose, meanwhile);
  });
  return {
    ...proxy,
    fail: (fault, number) => void ([next, failed] = [{ fault, left: number }, undefined]),
    stop() {
      next = undefined;
      return failed;
    },
  };
}

/** What PostgreSQL tells of the row that it refuses: data of a person, which nobody may find in the log. */
const ROW = "Failing row contains (ann@example.com).";

/** What happens to the answer to a statement: it passes, the connection breaks instead, or COMMIT is refused. */
type Passing = "pass" | "break" | { readonly refuse: string };

/** Types of messages, https://www.postgresql.org/docs/current/protocol-message-formats.html. */
const [QUERY, PARSE, BIND, DESCRIBE, EXECUTE, SYNC] = Buffer.from("QPBDES");
const OF_STATEMENTS = new Set([QUERY, PARSE, BIND, DESCRIBE, EXECUTE, SYNC]);
const [COMPLETE, READY] = Buffer.from("CZ");

function forward(
  near: Socket,
  far: Socket,
  choose: (text: string) => StatementFault | undefined,
  meanwhile: () => Promise<void>,
): void {
  // Both at once: what was received behind the lost statement must not reach PostgreSQL, either.
  const cut = () => void (near.destroy(), far.destroy());
  const answers: Passing[] = [];
  const texts = new Map<string, string>();
  /** The messages of the statement that is being received. */
  let received: Buffer[] = [];
  /** What a late statement, and all behind it, wait for. */
  let before: Promise<void> | undefined;
  const write = (bytes: Buffer): void => {
    if (before) void before.then(() => far.write(bytes));
    else far.write(bytes);
  };
  const send = (text: string): void => {
    const fault = choose(text);
    if (fault === "lost") return cut();
    if (fault === "late") {
      before = meanwhile();
      answers.push("pass");
      return write(Buffer.concat(received));
    }
    if (fault === undefined || fault === "unanswered") {
      answers.push(fault ? "break" : "pass");
      write(Buffer.concat(received));
    } else if (text === "COMMIT") {
      // A COMMIT that fails ends its transaction, too.
      answers.push({ refuse: fault });
      far.write(message("Q", "ROLLBACK\0"));
    } else {
      answers.push("pass");
      const raise = `DO $$ BEGIN RAISE EXCEPTION 'Failed.' USING ERRCODE = '${fault}', DETAIL = '${ROW}'; END $$\0`;
      const prepared = received.filter(([type]) => type === PARSE);
      const executed = [message("P", `\0${raise}\0\0`), message("B", "\0".repeat(8)), message("E", "\0".repeat(5))];
      const isSimple = received[0]?.[0] === QUERY;
      far.write(isSimple ? message("Q", raise) : Buffer.concat([...prepared, ...executed, message("S", "")]));
    }
  };
  const toDatabase = messagesIn((one) => {
    const [type] = one;
    // The start-up: a password, for example.
    if (!OF_STATEMENTS.has(type)) return write(one);
    received.push(one);
    const [name, text = ""] = one.toString("utf8", 5).split("\0", 2);
    if (type === PARSE) texts.set(name ?? "", text);
    if (type !== QUERY && type !== SYNC) return;
    const bound =
      received
        .find(([kind]) => kind === BIND)
        ?.toString("utf8", 5)
        .split("\0", 2)[1] ?? "";
    send(type === QUERY ? (name ?? "") : (texts.get(bound) ?? ""));
    received = [];
  });
  let isStarted = false;
  const fromDatabase = messagesIn((one) => {
    const [type] = one;
    const passing = (isStarted && answers[0]) || "pass";
    if (type === READY && isStarted) answers.shift();
    isStarted ||= type === READY;
    if (passing === "pass") near.write(one);
    else if (passing !== "break") near.write(type === COMPLETE ? errorOf(passing.refuse) : one);
    else if (type === READY) cut();
  });
  near.once("data", (bytes: Buffer) => {
    // Only the very first message has no type.
    const length = bytes.readInt32BE(0);
    far.write(bytes.subarray(0, length));
    if (bytes.length > length) toDatabase(bytes.subarray(length));
    near.on("data", toDatabase);
  });
  far.on("data", fromDatabase);
}

/** Calls `take` with each whole message: its type, its length, its content. */
function messagesIn(take: (message: Buffer) => void): (bytes: Buffer) => void {
  let left: Buffer = Buffer.alloc(0);
  return (bytes) => {
    left = left.length === 0 ? bytes : Buffer.concat([left, bytes]);
    while (left.length >= 5 && left.length > left.readInt32BE(1)) {
      const end = left.readInt32BE(1) + 1;
      take(left.subarray(0, end));
      left = left.subarray(end);
    }
  };
}

function message(type: string, content: string): Buffer {
  const bytes = Buffer.from(`${type}1234${content}`);
  bytes.writeInt32BE(bytes.length - 1, 1);
  return bytes;
}

const errorOf = (state: string): Buffer => message("E", `SERROR\0VERROR\0C${state}\0MFailed.\0D${ROW}\0\0`);
