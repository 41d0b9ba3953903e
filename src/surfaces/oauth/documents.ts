import { LIMITS } from "../../limits.js";
import type { Services } from "../../operation/context.js";
import { type UseLimit, takeUseOf, takeUseOfNetwork } from "../../operation/use-limit.js";

const { documentsPerNetwork, documentsPerHost, knownDocuments } = LIMITS.oauth;

const BY_NETWORK: Omit<UseLimit, "by"> = {
  ...documentsPerNetwork,
  name: "oauth-document",
  of: "readings of clients' documents for one network",
};
const FROM_HOST: Omit<UseLimit, "by"> = {
  ...documentsPerHost,
  name: "oauth-document-host",
  of: "readings of clients' documents from one host",
};

/**
 * Limits how often clients' documents are read from the web: any request may name any document. A document that was
 * read before does not count for its host, so that strangers who name others there cannot keep it from being read.
 */
export class DocumentReadings {
  /** The clients of documents that were read, the one used longest ago first. */
  readonly #known = new Set<string>();

  constructor(private readonly services: Pick<Services, "budgets" | "meter">) {}

  /** @throws RateLimited when the network or the host has no reading left. */
  async take(clientId: string, clientAddress: string): Promise<void> {
    await takeUseOfNetwork({ ...this.services, clientAddress }, BY_NETWORK);
    if (!this.#known.has(clientId)) await takeUseOf(this.services, FROM_HOST, new URL(clientId).hostname);
  }

  remember(clientId: string): void {
    this.#known.delete(clientId);
    this.#known.add(clientId);
    const [oldest] = this.#known;
    if (this.#known.size > knownDocuments && oldest !== undefined) this.#known.delete(oldest);
  }
}
