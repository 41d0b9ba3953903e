import { existsSync } from "node:fs";
import { type Config, readConfig } from "./config.js";

/**
 * The configuration of this process; a `.env` file counts in development, below what is set already.
 * @throws ConfigError naming every variable that is wrong.
 */
export function configOfProcess(): Config {
  if (process.env["NODE_ENV"] !== "production" && existsSync(".env")) process.loadEnvFile(".env");
  return readConfig(process.env);
}
