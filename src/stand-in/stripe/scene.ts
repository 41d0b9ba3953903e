import { Stripe } from "stripe";
import type { Courier } from "./delivery.js";
import { type JsonObject, previousAttributes, toJson } from "./json.js";
import { subscriptionObject } from "./objects.js";
import {
  type EventRecord,
  type InvoiceRecord,
  type Source,
  type State,
  type Store,
  type SubscriptionRecord,
  newId,
} from "./state.js";

type EventType = Stripe.Event["type"];
type ObjectOf<T extends EventType> = Extract<Stripe.Event, { type: T }>["data"]["object"];

/** The API request that causes a change; null for changes by the clock or on a page. */
export interface Cause {
  readonly id: string;
  readonly idempotencyKey: string | null;
}

/** The state with its clock, and the delivery of events. */
export class Scene implements Source {
  /** The address of the stand-in, set when it listens. */
  url = "";
  cause: Cause | null = null;
  /** The last previewed invoice of each subscription, for requests of its further lines. */
  readonly previews = new Map<string, InvoiceRecord>();

  constructor(
    readonly store: Store,
    readonly courier: Courier,
  ) {}

  get state(): State {
    return this.store.state;
  }

  now(): number {
    return this.store.now();
  }

  /** Sends an event with the present state of the object. */
  emit<T extends EventType>(type: T, object: ObjectOf<T> & object, previous?: JsonObject): void {
    const event = {
      id: newId("evt"),
      object: "event",
      api_version: Stripe.API_VERSION,
      created: this.now(),
      data: { object: toJson(object), ...(previous && { previous_attributes: previous }) },
      livemode: false,
      pending_webhooks: 0,
      request: { id: this.cause?.id ?? null, idempotency_key: this.cause?.idempotencyKey ?? null },
      type,
    } satisfies EventRecord;
    this.state.events[event.id] = event;
    event.pending_webhooks = this.courier.send(event);
  }

  /** Changes a subscription, and sends an event if anything changed. */
  change<T>(subscription: SubscriptionRecord, act: () => T): T {
    const before = toJson(subscriptionObject(this, subscription));
    const made = act();
    const after = subscriptionObject(this, subscription);
    const previous = previousAttributes(before, toJson(after));
    if (Object.keys(previous).length > 0) this.emit("customer.subscription.updated", after, previous);
    return made;
  }
}
