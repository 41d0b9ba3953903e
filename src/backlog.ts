import type { Services } from "./operation/context.js";
import type { Backlog } from "./platform/telemetry/metrics.js";

/**
 * Counts the work that waits in the database: mails, payment events, requests to the payment provider, memories to
 * embed.
 */
export async function readBacklog({
  database,
  meaning,
  now,
}: Pick<Services, "database" | "meaning" | "now">): Promise<Readonly<Record<string, Backlog>>> {
  const { embeddingDue, mail, paymentEvent, billingRequest } = database.models;
  const [mails, events, requests, memories] = await Promise.all([
    // Also mails that are not due yet: each failed attempt moves a mail's due time.
    mail.aggregate({ _count: true, _min: { createdAt: true } }),
    paymentEvent.aggregate({ where: { processedAt: null }, _count: true, _min: { receivedAt: true } }),
    billingRequest.aggregate({ where: { outcome: null }, _count: true, _min: { createdAt: true } }),
    // Without an embeddings server none is late; many may have been queued while there was one.
    meaning && embeddingDue.aggregate({ _count: true, _min: { dueAt: true } }),
  ]);
  const backlog = (count: number, oldest: Date | null): Backlog => ({
    count,
    oldestSeconds: oldest ? Math.max(0, now().getTime() - oldest.getTime()) / 1_000 : 0,
  });
  return {
    mails: backlog(mails._count, mails._min.createdAt),
    payment_events: backlog(events._count, events._min.receivedAt),
    billing_requests: backlog(requests._count, requests._min.createdAt),
    // How long one that is tried again has waited is not known.
    ...(memories && { embeddings: backlog(memories._count, memories._min.dueAt) }),
  };
}
