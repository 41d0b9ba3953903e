import { readFileSync } from "node:fs";
import { parseEnv } from "node:util";
import { type Config, type Needs, readConfig } from "./config.js";
import { ConfigError } from "./variables.js";

/**
 * The configuration of this process. In development, a `.env` file adds variables that are not set.
 * @throws ConfigError naming every variable that is wrong, or the file if it cannot be read.
 */
export function configOfProcess(needs?: Needs): Config {
  if (process.env["NODE_ENV"] !== "production") {
    for (const [name, value] of Object.entries(variablesIn(".env"))) process.env[name] ??= value;
  }
  tidyTelemetry();
  return readConfig(process.env, needs);
}

/**
 * OpenTelemetry's packages read their variables themselves. They would silently use a default for an address with a space
 * behind it, or for a sampler in capitals.
 */
function tidyTelemetry(): void {
  for (const [name, value = ""] of Object.entries(process.env)) {
    if (!name.startsWith("OTEL_")) continue;
    const text = value.trim();
    process.env[name] = name === "OTEL_TRACES_SAMPLER" ? text.toLowerCase() : text;
  }
}

/** By the byte order mark: Windows PowerShell writes UTF-16 by default. */
function encodingOf([first, second]: Buffer): string {
  if (first === 0xff && second === 0xfe) return "utf-16le";
  return first === 0xfe && second === 0xff ? "utf-16be" : "utf-8";
}

/** Node's own loader takes a byte order mark for a part of the first name, and finds nothing in UTF-16. */
function variablesIn(file: string): NodeJS.Dict<string> {
  try {
    const bytes = readFileSync(file);
    return parseEnv(new TextDecoder(encodingOf(bytes)).decode(bytes));
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === "ENOENT") return {};
    throw new ConfigError([`  The file ${file} cannot be read (${code}): correct or remove it.`]);
  }
}
