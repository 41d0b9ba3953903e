import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname } from "node:path";

const PACKAGE_FILE = createRequire(import.meta.url).resolve("#package");

/** The folder of the project, from sources and from the bundle alike. */
export const PROJECT = dirname(PACKAGE_FILE);

/** The service's version and description from package.json. */
export const PACKAGE = JSON.parse(readFileSync(PACKAGE_FILE, "utf8")) as {
  readonly version: string;
  readonly description: string;
};
