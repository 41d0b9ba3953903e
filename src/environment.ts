import { existsSync } from "node:fs";
import { type Config, readConfig } from "./config.js";

/**
 * The configuration of this process. In development, a `.env` file adds variables that are not set.
 * @throws ConfigError naming every variable that is wrong.
 */
export function configOfProcess(): Config {
  if (process.env["NODE_ENV"] !== "production" && existsSync(".env")) process.loadEnvFile(".env");
  return readConfig(process.env);
}
