import { LIMITS } from "../../limits.js";
import { networksOf } from "../../operation/network.js";
import type { Services } from "../../operation/context.js";
import { type PlainLimit, takeUse, takeUseOfNetwork } from "../../operation/use-limit.js";

const { documentsPerNetwork, documentsPerHost, documentsPerShare, knownDocuments } = LIMITS.oauth;

const BY_NETWORK: PlainLimit = {
  ...documentsPerNetwork,
  name: "oauth-document",
  of: "readings of clients' documents for one network",
};
const FROM_HOST: PlainLimit = {
  ...documentsPerHost,
  name: "oauth-document-host",
  of: "readings of clients' documents from one host",
};

const SHARE_OF_HOST: PlainLimit = {
  ...documentsPerShare,
  name: "oauth-document-share",
  of: "readings of clients' documents from one host for one network",
};

/**
 * Limits how often clients' documents are read from the web: any request may name any document. A document that was
 * read before does not count for its host, so that strangers who name others there cannot keep it from being read. Nor
 * can one network use up what all have at a host: a /48 of IPv6 counts as one here.
 */
export class DocumentReadings {
  /** The clients of documents that were read, the one used longest ago first. */
  readonly #known = new Set<string>();

  constructor(private readonly services: Pick<Services, "budgets" | "meter">) {}

  /** @throws RateLimited when the network or the host has no reading left. */
  async take(clientId: string, clientAddress: string): Promise<void> {
    await takeUseOfNetwork({ ...this.services, clientAddress }, BY_NETWORK);
    if (this.#known.has(clientId)) return;
    const host = new URL(clientId).hostname;
    await takeUse(this.services, SHARE_OF_HOST, `${networksOf(clientAddress).at(-1)?.network} ${host}`);
    await takeUse(this.services, FROM_HOST, host);
  }

  remember(clientId: string): void {
    this.#known.delete(clientId);
    this.#known.add(clientId);
    const [oldest] = this.#known;
    if (this.#known.size > knownDocuments && oldest !== undefined) this.#known.delete(oldest);
  }
}
