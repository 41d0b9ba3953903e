import { type DestinationStream, type Logger, pino, stdSerializers, stdTimeFunctions } from "pino";

export type { Logger } from "pino";

/**
 * Structured logs, one JSON object a line on standard output. In production lines are written together, at least once
 * a second: fewer system calls, and at most the last second is missing after a kill.
 */
export function createLogger(level: string, { buffered }: { buffered: boolean }): Logger & AsyncDisposable {
  const destination = pino.destination({ dest: 1, sync: !buffered, minLength: buffered ? 4_096 : 0 });
  const timer = buffered ? setInterval(() => destination.flush(), 1_000).unref() : undefined;
  return Object.assign(loggerTo(destination, level), {
    async [Symbol.asyncDispose]() {
      clearInterval(timer);
      if (buffered) await new Promise<void>((done) => destination.flush(() => done()));
    },
  });
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
  return pino(options, destination);
}

/** An error without what databases add to it, such as the row that was refused: that is what callers sent. */
function withoutData(error: Error): object {
  const { type, message, stack, code } = stdSerializers.err(error) as Record<string, unknown>;
  return { type, message, stack, code };
}
