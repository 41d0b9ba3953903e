import type { Config } from "../../config.js";
import { adviceForCertificate } from "../../platform/certificate-advice.js";
import { Problem } from "./problem.js";

const SAID_LENGTH = 200;

export async function checkTelemetry({ telemetry }: Config): Promise<string | undefined> {
  if (!telemetry) return undefined;
  const { tryCollector } = await import("../../platform/telemetry/telemetry.js");
  const [problem] = await tryCollector(telemetry);
  const signals = [telemetry.traces ? "traces" : [], telemetry.logs ? "logs" : []].flat().join(" and ");
  if (!problem) return `The collector takes ${signals}.`;
  const [signal, { message, cause }] = problem;
  const said = (cause instanceof Error ? cause.message : message).slice(0, SAID_LENGTH).replace(/\.$/, "");
  const todo =
    adviceForCertificate(said, "OTEL_EXPORTER_OTLP_ENDPOINT") ??
    `Check OTEL_EXPORTER_OTLP_ENDPOINT and _HEADERS, or set OTEL_${signal.toUpperCase()}_EXPORTER=none.`;
  throw new Problem(`The collector does not take ${signal}: ${said}. ${todo}`);
}
