import { type DestinationStream, type Logger, pino, stdTimeFunctions } from "pino";
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
  if (!(error instanceof Error))
    return { message: cut(withoutValues({ name: "", message: String(error) }), messageLength) };
  const type = error.constructor.name;
  const { code } = error as NodeJS.ErrnoException;
  const message = cut(reasonsOf(error), messageLength);
  return { type, message, stack: `${type}: ${message}${cut(framesOf(error), framesLength)}`, code };
}

/** The frames of the stack behind the message, which may have lines like them: people store traces. */
function framesOf({ message, stack }: Error): string {
  if (typeof stack !== "string") return "";
  const at = message ? stack.indexOf(message) : stack.search(/\n {4}at /);
  return at < 0 ? "" : stack.slice(at + (message?.length ?? 0));
}

/** How many causes of an error are told. */
const CAUSES_MAX = 3;

function reasonsOf(error: Error, causes = CAUSES_MAX): string {
  const { cause = error instanceof AggregateError ? (error.errors[0] as unknown) : undefined } = error;
  const reason = withoutValues(error);
  if (!(cause instanceof Error) || causes === 0) return reason;
  return [reason, reasonsOf(cause, causes - 1)].filter((one) => one !== "").join(": ");
}

/** What Prisma tells before the reason: the call, and sometimes lines of the code around it. */
const PRISMA_HEAD = /^\s*Invalid `[^`]*` invocation(?::| in\n[^\n]*)\n(?:(?:[ →][^\n]*)?\n)*/;
/** PostgreSQL and JSON.parse quote the value that they refuse: `invalid input syntax for type uuid: "…"`. */
const REFUSED_VALUE = /([:,]|\bvalue|\bstring) (?:\.\.\.)?(?:["»«„“]|\(')[^]*/;

function withoutValues({ name, message: told }: { readonly name: string; readonly message: unknown }): string {
  // An error of other people's code may have anything as its message.
  const message = typeof told === "string" ? told : "";
  // It shows all arguments, one in a line each, and then the reason in one line.
  const isOfArguments = name === "PrismaClientValidationError";
  const reason = isOfArguments ? message.slice(message.lastIndexOf("\n") + 1) : message.replace(PRISMA_HEAD, "");
  return reason.replace(REFUSED_VALUE, '$1 "…"');
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
