import type { Services } from "./operation/context.js";
import type { Backlog } from "./platform/metrics.js";

/** What waits in the database to be done: mails that are due, payment events, requests to the payment provider, memories
 * to embed. */
export async function readBacklog({
  database,
  now,
}: Pick<Services, "database" | "now">): Promise<Readonly<Record<string, Backlog>>> {
  const { embeddingDue, mail, paymentEvent, billingRequest } = database.models;
  const [mails, events, requests, memories] = await Promise.all([
    mail.aggregate({ where: { dueAt: { lte: now() } }, _count: true, _min: { dueAt: true } }),
    paymentEvent.aggregate({ where: { processedAt: null }, _count: true, _min: { receivedAt: true } }),
    billingRequest.aggregate({ where: { outcome: null }, _count: true, _min: { createdAt: true } }),
    embeddingDue.aggregate({ where: { dueAt: { lte: now() } }, _count: true, _min: { dueAt: true } }),
  ]);
  const backlog = (count: number, oldest: Date | null): Backlog => ({
    count,
    oldestSeconds: oldest ? Math.max(0, now().getTime() - oldest.getTime()) / 1_000 : 0,
  });
  return {
    mails: backlog(mails._count, mails._min.dueAt),
    payment_events: backlog(events._count, events._min.receivedAt),
    embeddings: backlog(memories._count, memories._min.dueAt),
    billing_requests: backlog(requests._count, requests._min.createdAt),
  };
}
