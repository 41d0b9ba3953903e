import { randomUUID } from "node:crypto";
import { readFile, rename, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { Services } from "../../operation/context.js";
import { sha256 } from "../../operation/sha256.js";
import { isApiKey } from "./key-text.js";
import { AddressTaken, createKeyFor, createUser } from "./create-user.js";
import { UNIQUE_VIOLATION, sqlStateOf } from "../../platform/database/database-errors.js";
import { codeOf } from "../../platform/error-code.js";
import { makeFolder } from "../../platform/folder.js";

const EMAIL = "demo@example.com";

/**
 * Returns the key of a demo user, for development. The key is in a file in the data folder, and each database that is
 * used with this folder gets the same one. If there is no file, or its key is malformed or was revoked, a new key is
 * created. If another server creates the user or the key at the same moment, the second attempt finds them.
 */
export async function prepareDemoKey(services: Services, dataDir: string): Promise<string> {
  try {
    return await findOrCreate(services, dataDir);
  } catch (error) {
    if (!(error instanceof AddressTaken) && sqlStateOf(error) !== UNIQUE_VIOLATION) throw error;
    return findOrCreate(services, dataDir);
  }
}

async function findOrCreate(services: Services, dataDir: string): Promise<string> {
  const file = join(dataDir, "demo-key");
  const kept = (await readKept(file)).trim();
  const { apiKey, user } = services.database.models;
  const known = await apiKey.findUnique({ where: { hash: sha256(kept) } });
  if (known?.revokedAt === null) return kept;
  const secret = known === null && isApiKey(kept) ? kept : undefined;
  const exists = await user.findUnique({ where: { email: EMAIL } });
  const made = exists
    ? await createKeyFor(services, EMAIL, "Demo key", secret)
    : await createUser(services, { email: EMAIL, name: "Demo", plan: "pro", verified: true }, secret);
  if (secret === undefined) {
    await makeFolder(dataDir);
    await writeWhole(file, `${made.apiKey.key}\n`);
  }
  return made.apiKey.key;
}

async function readKept(file: string): Promise<string> {
  try {
    return await readFile(file, "utf8");
  } catch (error) {
    if (codeOf(error) === "ENOENT") return "";
    // The error for a folder in place of the file has no path.
    throw Object.assign(error as Error, { path: file });
  }
}

/** Whoever reads the file meanwhile finds the old key or the new one, never a part of it. */
async function writeWhole(file: string, text: string): Promise<void> {
  const draft = `${file}-${randomUUID()}`;
  try {
    await writeFile(draft, text, { mode: 0o600 });
    await rename(draft, file);
  } finally {
    await rm(draft, { force: true });
  }
}
