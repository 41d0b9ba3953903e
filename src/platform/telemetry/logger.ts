import { type DestinationStream, type Logger, pino, stdSerializers, stdTimeFunctions } from "pino";
import { LIMITS } from "../../limits.js";
import { LogStream, STANDARD_OUTPUT } from "./log-stream.js";

export type { Logger } from "pino";

/**
 * Structured logs, one JSON object per line on standard output. In production lines are buffered for up to a second:
 * this saves system calls, and a kill loses at most the last second. `also` gets each line too.
 */
export function createLogger(
  level: string,
  { buffered, also }: { buffered: boolean; also?: ((line: string) => void) | undefined },
): Logger & AsyncDisposable {
  const stream = new LogStream(STANDARD_OUTPUT, { buffered });
  const write = (line: string): void => {
    stream.write(line);
    also?.(line);
  };
  return Object.assign(loggerTo({ write }, level), { [Symbol.asyncDispose]: () => stream[Symbol.asyncDispose]() });
}

/** A logger with any destination. Field names are snake_case, as in REST. */
export function loggerTo(destination: DestinationStream, level: string): Logger {
  const options = {
    level,
    base: {},
    timestamp: stdTimeFunctions.isoTime,
    formatters: { level: (label: string) => ({ level: label }) },
    serializers: { err: withoutData },
    // Of an error with pino's own key, pino adds the whole message a second time, for a line without one.
    errorKey: "exception",
  };
  let errors = 0;
  const write = (line: string): void => {
    if (AN_ERROR.test(line)) errors++;
    destination.write(shorten(line));
  };
  const log = pino(options, { write });
  errorsOf.set(log, () => errors);
  return log;
}

const AN_ERROR = /^\{"level":"(?:error|fatal)"/;
const errorsOf = new WeakMap<Logger, () => number>();

/** How many lines at level error or above a logger of `loggerTo` has written, with all its children. */
export const countErrors = (log: Logger): number => errorsOf.get(log)?.() ?? 0;

const { lineBytes, listed, messageLength, framesLength } = LIMITS.log;

/** An error without the data that databases add, such as the refused row: it contains data of clients. */
function withoutData(error: unknown): object {
  if (!(error instanceof Error)) return { message: cut(String(error), messageLength) };
  const { type, message, stack, code } = stdSerializers.err(error) as unknown as Record<string, string>;
  const shortMessage = cut(withoutValues(error.name, message ?? ""), messageLength);
  // The stack starts with the message, which may be long.
  const frames = /\n {4}at [^]*/.exec(stack?.slice(-4 * framesLength) ?? "")?.[0] ?? "";
  return { type, message: shortMessage, stack: `${type}: ${shortMessage}${cut(frames, framesLength)}`, code };
}

/**
 * Prisma's messages show the arguments of the call, or the code around it, and tell the reason in their last line.
 * PostgreSQL and JSON.parse quote the value that they refuse at the end: `invalid input syntax for type uuid: "…"`.
 */
function withoutValues(name: string, message: string): string {
  const reason = name.startsWith("PrismaClient") ? message.slice(message.lastIndexOf("\n") + 1) : message;
  return reason.replace(/([:,]|\bvalue) "[^]*/, '$1 "…"');
}

const cut = (text: string, length: number): string => (text.length > length ? `${text.slice(0, length)}…` : text);

/** The first few items of a long list, and how many more there are. */
export const firstFew = (list: readonly string[]): readonly string[] =>
  list.length > listed ? [...list.slice(0, listed), `and ${list.length - listed} more`] : list;

/** Last resort for a line that is too long in spite of the limits on its parts: keeps its beginning. */
function shorten(line: string): string {
  // A character takes up to three bytes.
  if (line.length * 3 <= lineBytes || Buffer.byteLength(line) <= lineBytes) return line;
  const { level, time, request_id: id } = JSON.parse(line) as Record<string, unknown>;
  const known = { level, time, request_id: id === undefined ? undefined : cut(String(id), 128) };
  return `${JSON.stringify({ ...known, line_length: line.length, line_begins: line.slice(0, lineBytes / 8) })}\n`;
}
