import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { Services } from "../../operation/context.js";
import { hashApiKey } from "./key-text.js";
import { createKeyFor, createUser } from "./create-user.js";
import { makeFolder } from "../../platform/folder.js";

const EMAIL = "demo@example.com";

/**
 * The key of a demo user, for development: created at the first start and kept in a file in the data folder. Created
 * again only if the file is missing or the database does not know its key.
 */
export async function prepareDemoKey(services: Services, dataDir: string): Promise<string> {
  const file = join(dataDir, "demo-key");
  const kept = (await readFile(file, "utf8").catch(() => "")).trim();
  const { apiKey, user } = services.database.models;
  const hash = new Uint8Array(hashApiKey(kept));
  if (kept && (await apiKey.findFirst({ where: { hash, revokedAt: null } }))) return kept;
  const exists = await user.findUnique({ where: { email: EMAIL } });
  const made = exists
    ? await createKeyFor(services, EMAIL, "Demo key")
    : await createUser(services, { email: EMAIL, name: "Demo", plan: "pro", verified: true });
  await makeFolder(dataDir);
  await writeFile(file, `${made.apiKey.key}\n`, { mode: 0o600 });
  return made.apiKey.key;
}
