import { type DestinationStream, type Logger, pino, stdSerializers, stdTimeFunctions } from "pino";
import { LIMITS } from "../limits.js";
import { LogStream, STANDARD_OUTPUT } from "./log-stream.js";

export type { Logger } from "pino";

/**
 * Structured logs, one JSON object a line on standard output. In production lines are written together, at least once
 * a second: fewer system calls, and at most the last second is missing after a kill.
 */
export function createLogger(level: string, { buffered }: { buffered: boolean }): Logger & AsyncDisposable {
  const stream = new LogStream(STANDARD_OUTPUT, { buffered });
  return Object.assign(loggerTo(stream, level), { [Symbol.asyncDispose]: () => stream[Symbol.asyncDispose]() });
}

/** A logger to anywhere. Field names are snake_case, as in REST. */
export function loggerTo(destination: DestinationStream, level: string): Logger {
  const options = {
    level,
    base: {},
    timestamp: stdTimeFunctions.isoTime,
    formatters: { level: (label: string) => ({ level: label }) },
    serializers: { err: withoutData },
  };
  return pino(options, { write: (line: string) => destination.write(shorten(line)) });
}

const { lineBytes, listed, messageLength, framesLength } = LIMITS.log;

/** An error without what databases add to it, such as the row that was refused: that is what callers sent. */
function withoutData(error: unknown): object {
  if (!(error instanceof Error)) return { message: cut(String(error), messageLength) };
  const { type, message, stack, code } = stdSerializers.err(error) as unknown as Record<string, string>;
  const said = cut(message ?? "", messageLength);
  // The stack begins with the message, which may be long.
  const frames = /\n {4}at [^]*/.exec(stack?.slice(-4 * framesLength) ?? "")?.[0] ?? "";
  return { type, message: said, stack: `${type}: ${said}${cut(frames, framesLength)}`, code };
}

const cut = (text: string, length: number): string => (text.length > length ? `${text.slice(0, length)}…` : text);

/** The first few of a list that may be long, and how many more there are. */
export const firstFew = (list: readonly string[]): readonly string[] =>
  list.length > listed ? [...list.slice(0, listed), `and ${list.length - listed} more`] : list;

/** The last resort for a line that is too long in spite of the bounds on its parts: keeps its beginning. */
function shorten(line: string): string {
  // A character takes up to three bytes.
  if (line.length * 3 <= lineBytes || Buffer.byteLength(line) <= lineBytes) return line;
  const { level, time, request_id: id } = JSON.parse(line) as Record<string, unknown>;
  const known = { level, time, request_id: id === undefined ? undefined : cut(String(id), 128) };
  return `${JSON.stringify({ ...known, line_length: line.length, line_begins: line.slice(0, lineBytes / 8) })}\n`;
}
