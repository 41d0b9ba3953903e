import { createHmac, randomInt } from "node:crypto";
import { type DeliveryRecord, type EndpointRecord, type EventRecord, type Store, newId } from "./state.js";

export type DeliveryMode = "once" | "twice-shuffled";

const ATTEMPTS_MAX = 10;
const FIRST_WAIT_MS = 100;
const WAIT_MAX_MS = 2_000;
const ANSWER_MAX_MS = 5_000;
/** How long events are collected, so that they can be shuffled. */
const GATHER_MS = 15;
const UNDER_WAY_MAX = 4;

interface Waiting {
  readonly record: DeliveryRecord;
  dueMs: number;
}

/** Delivers events to endpoints: once and in order, or twice and shuffled, the worst that Stripe allows. */
export class Courier {
  readonly #stopped = new AbortController();
  readonly #waiting = new Set<Waiting>();
  readonly #underWay = new Set<Promise<void>>();
  #idle: (() => void)[] = [];
  #timer: NodeJS.Timeout | undefined;

  constructor(
    private readonly store: Store,
    private readonly mode: DeliveryMode,
  ) {
    for (const record of Object.values(store.state.deliveries)) this.#add(record, Date.now());
  }

  /** Queues an event for each endpoint that wants it; returns the number of these endpoints. */
  send(event: EventRecord): number {
    const wanting = Object.values(this.store.state.endpoints).filter((endpoint) => wants(endpoint, event.type));
    const dueMs = Date.now() + (this.mode === "once" ? 0 : GATHER_MS);
    for (const { id } of wanting) {
      for (let copy = 0; copy < (this.mode === "once" ? 1 : 2); copy++) {
        this.#add({ id: newId("dlv"), event: event.id, endpoint: id, attempts: 0 }, dueMs);
      }
    }
    this.#wake();
    return wanting.length;
  }

  /** Delivers the remaining events of an earlier run. */
  start(): void {
    this.#wake();
  }

  /** Resolves when no delivery is pending. */
  idle(): Promise<void> {
    if (this.#waiting.size === 0 && this.#underWay.size === 0) return Promise.resolve();
    return new Promise((resolve) => void this.#idle.push(resolve));
  }

  async stop(): Promise<void> {
    clearTimeout(this.#timer);
    this.#stopped.abort();
    await Promise.allSettled(this.#underWay);
    for (const resolve of this.#idle.splice(0)) resolve();
  }

  #wake(): void {
    clearTimeout(this.#timer);
    if (this.#stopped.signal.aborted) return;
    const most = this.mode === "once" ? 1 : UNDER_WAY_MAX;
    while (this.#underWay.size < most) {
      const next = this.#next();
      if (!next) break;
      this.#waiting.delete(next);
      const sending: Promise<void> = this.#deliver(next).finally(() => {
        this.#underWay.delete(sending);
        this.#wake();
      });
      this.#underWay.add(sending);
    }
    if (this.#waiting.size > 0) {
      const dueMs = Math.min(...Array.from(this.#waiting, (waiting) => waiting.dueMs));
      if (this.#underWay.size < most) this.#timer = setTimeout(() => this.#wake(), Math.max(1, dueMs - Date.now()));
    } else if (this.#underWay.size === 0) {
      for (const resolve of this.#idle.splice(0)) resolve();
    }
  }

  #next(): Waiting | undefined {
    const due = [...this.#waiting].filter(({ dueMs }) => dueMs <= Date.now());
    if (due.length === 0) return undefined;
    return this.mode === "once" ? due[0] : due[randomInt(due.length)];
  }

  async #deliver(waiting: Waiting): Promise<void> {
    const { record } = waiting;
    const event = this.store.state.events[record.event];
    const endpoint = this.store.state.endpoints[record.endpoint];
    // Either may have been removed while the delivery waited.
    const done = !event || !endpoint || (await this.#post(event, endpoint));
    if (this.#stopped.signal.aborted) return;
    record.attempts++;
    if (!done && record.attempts < ATTEMPTS_MAX) {
      const waitMs = Math.min(WAIT_MAX_MS, FIRST_WAIT_MS * 2 ** (record.attempts - 1));
      this.#add(record, Date.now() + waitMs);
    } else {
      delete this.store.state.deliveries[record.id];
    }
    this.store.saveSoon();
  }

  /** Sends the event; returns whether the endpoint accepted it. */
  async #post(event: EventRecord, { url, secret }: EndpointRecord): Promise<boolean> {
    const body = JSON.stringify(event, undefined, 2);
    try {
      const { ok, body: answer } = await fetch(url, {
        method: "POST",
        body,
        headers: {
          "content-type": "application/json; charset=utf-8",
          "stripe-signature": signature(body, secret),
          "user-agent": "Stripe/1.0 (stand-in)",
        },
        redirect: "manual",
        signal: AbortSignal.any([this.#stopped.signal, AbortSignal.timeout(ANSWER_MAX_MS)]),
      });
      await answer?.cancel();
      return ok;
    } catch {
      // Any network error is retried.
      return false;
    }
  }

  #add(record: DeliveryRecord, dueMs: number): void {
    this.#waiting.add({ record, dueMs });
    this.store.state.deliveries[record.id] = record;
  }
}

const wants = ({ enabledEvents, status }: EndpointRecord, type: string): boolean =>
  status === "enabled" && (enabledEvents.includes("*") || enabledEvents.includes(type));

/** Signed with the real time, since receivers check it by the real clock. */
function signature(body: string, secret: string): string {
  const at = Math.floor(Date.now() / 1_000);
  return `t=${at},v1=${createHmac("sha256", secret).update(`${at}.${body}`).digest("hex")}`;
}
