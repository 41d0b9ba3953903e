import { hash } from "node:crypto";
import { InMemoryLRUCache, type KeyValueCache } from "@apollo/utils.keyvaluecache";
import type { DocumentNode } from "graphql";
import { COSTS_MAX_BYTES } from "./cost.js";
import { PLANS_MAX_BYTES } from "./plan.js";

/** How many validated documents are cached; the least recently used are evicted. */
const DOCUMENTS_MAX = 1_000;
/** How much memory all validated documents may take, and how much one of them. */
const DOCUMENTS_MAX_BYTES = 64 * 1_048_576;
const DOCUMENT_MAX_BYTES = 1_048_576;

/** Documents that are parsed and valid. Apollo's key is a prefix for the schema, then the SHA-256 of the text. */
export class Documents implements KeyValueCache<DocumentNode> {
  readonly #byHash = new InMemoryLRUCache<DocumentNode>({
    max: DOCUMENTS_MAX,
    maxSize: DOCUMENTS_MAX_BYTES,
    maxEntrySize: DOCUMENT_MAX_BYTES,
    sizeCalculation: memoryOf,
  });

  ofSource = (source: string): Promise<DocumentNode | undefined> => this.#byHash.get(hash("sha256", source));
  get = (key: string): Promise<DocumentNode | undefined> => this.#byHash.get(hashIn(key));
  set = (key: string, document: DocumentNode): Promise<void> => this.#byHash.set(hashIn(key), document);
  delete = async (key: string): Promise<void> => void (await this.#byHash.delete(hashIn(key)));
}

const HASH_LENGTH = 64;
const hashIn = (key: string): string => key.slice(-HASH_LENGTH);

/**
 * Estimates how many bytes of memory a validated document takes. Measured: three times its JSON for the nodes, and 50 a
 * character for the source and its tokens. Comments count too: their tokens are kept, though not in the JSON.
 */
function memoryOf(document: DocumentNode): number {
  const nodes = InMemoryLRUCache.sizeCalculation(document);
  return 3 * nodes + 50 * (document.loc?.source.body.length ?? 0) + COSTS_MAX_BYTES + PLANS_MAX_BYTES;
}
