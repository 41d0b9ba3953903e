import {
  WAITING_SECONDS,
  abandonSubscription,
  cancelSubscription,
  dropPendingUpdate,
  expireSession,
  renewSubscription,
} from "./lifecycle.js";
import { endOf } from "./objects.js";
import type { Scene } from "./scene.js";
import type { SubscriptionRecord } from "./state.js";

/** Limits of one move of the clock. A larger move is a mistake. */
const STEPS_MAX = 5_000;
const PASSED_MAX_MS = 5 * 366 * 86_400_000;

interface Due {
  /** Seconds since 1970, by the stand-in's clock. */
  readonly at: number;
  readonly act: () => void;
}

/** Runs everything that is due until a time, each change at its own time. Throws a RangeError above the limits. */
export function passTime(scene: Scene, untilMs: number): void {
  if (untilMs - scene.store.nowMs() > PASSED_MAX_MS) throw new RangeError("The clock can move at most five years.");
  for (let step = 0; step < STEPS_MAX; step++) {
    const next = earliest(scene);
    if (!next || next.at * 1_000 > untilMs) {
      if (step > 0) scene.store.save();
      return;
    }
    scene.store.at(next.at * 1_000, next.act);
  }
  throw new RangeError(`More than ${STEPS_MAX} things are due: the clock was moved too far.`);
}

function earliest(scene: Scene): Due | undefined {
  const { sessions, subscriptions } = scene.state;
  const dues: Due[] = Object.values(sessions)
    .filter(({ status }) => status === "open")
    .map((session) => ({ at: session.expiresAt, act: () => expireSession(scene, session) }));
  for (const subscription of Object.values(subscriptions)) dues.push(...duesOf(scene, subscription));
  let first: Due | undefined;
  for (const due of dues) if (!first || due.at < first.at) first = due;
  return first;
}

function duesOf(scene: Scene, subscription: SubscriptionRecord): Due[] {
  const { status, pendingUpdate, periodEnd, created } = subscription;
  if (status === "incomplete") {
    return [{ at: created + WAITING_SECONDS, act: () => abandonSubscription(scene, subscription) }];
  }
  const end = endOf(subscription);
  if (!["trialing", "active", "past_due", "unpaid"].includes(status)) return [];
  const dues =
    end !== null && end <= periodEnd
      ? [{ at: end, act: () => cancelSubscription(scene, subscription) }]
      : [{ at: periodEnd, act: () => renewSubscription(scene, subscription) }];
  if (pendingUpdate) dues.unshift({ at: pendingUpdate.expiresAt, act: () => dropPendingUpdate(scene, subscription) });
  return dues;
}
