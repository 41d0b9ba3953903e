import { randomUUID } from "node:crypto";
import { readFile, rename, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { Services } from "../../operation/context.js";
import { sha256 } from "../../operation/sha256.js";
import { isApiKey } from "./key-text.js";
import { AddressTaken, createKeyFor, createUser } from "./create-user.js";
import { UNIQUE_VIOLATION, sqlStateOf } from "../../platform/database/database-errors.js";
import { makeFolder } from "../../platform/folder.js";

const EMAIL = "demo@example.com";

/**
 * The key of a demo user, for development: created at the first start and kept in a file in the data folder. A database
 * that does not know it gets it, so the file is right for all that are used with this folder. If it was revoked there,
 * or is no key, a new one is created. Another server that starts at this moment may create the user or the key first:
 * then they are there at the second attempt.
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
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return "";
    // Reading a folder names no path.
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
