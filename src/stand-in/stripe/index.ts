/**
 * A stand-in for Stripe, for development and tests: an HTTP server with the part of Stripe's API that the
 * service uses, in the version of the `stripe` package. No money is paid.
 *
 * It imitates customers, products, prices, checkout sessions, subscriptions, invoices, links to the customer portal and
 * its configurations, settings of Stripe Tax, events and webhook endpoints; authentication, idempotency keys,
 * expansion, paging and errors; and the lifecycle of a subscription with a separate clock. Its pages are at a session's
 * `url` and an invoice's `hosted_invoice_url`; control.ts describes how to control it over HTTP.
 *
 * A bank can ask the buyer to confirm a charge (3-D Secure): then the payment waits as if the card had been declined.
 * Taxes are a tenth everywhere, and a promotion code takes the percentage in its name off all invoices (`SAVE25`). It
 * does not imitate other discounts and the API of promotion codes, metered and tiered prices, several intervals in one
 * subscription, several currencies of a customer, payment methods and intents, retries of failed payments
 * (a subscription stays past due until its latest invoice is paid or `giveUp` is called), resuming a paused
 * subscription, finalizing drafts, credit for overpayments, final invoices of cancellations (`invoice_now` and `prorate`
 * are accepted without effect), rate limits, connected accounts, restricted keys and API version 2. Prorations are
 * approximate. Parameters and expansions of Stripe that it does not support are refused as unknown. Events have the
 * version of this SDK. An item is added even if the subscription already has one with the same price, which Stripe may
 * refuse.
 */
import { once } from "node:events";
import { type Server, createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { Api, type StandInRequest } from "./api.js";
import { Courier } from "./delivery.js";
import { passTime } from "./due.js";
import { type Fault, Faults } from "./faults.js";
import { application } from "./http.js";
import { payInvoice } from "./billing.js";
import { cancelInPortal, giveUpSubscription, pauseSubscription, paySession } from "./lifecycle.js";
import { readyPrice } from "./routes/catalogue.js";
import { findNamed } from "./routes/route.js";
import { Scene } from "./scene.js";
import type { StandInOptions, StandInStripe } from "./stand-in-stripe.js";
import { Store, newId } from "./state.js";

export type { Fault, StandInOptions, StandInRequest, StandInStripe };

const HOST = "127.0.0.1";
const KEEP_ALIVE_MS = 60_000;

/** Starts the stand-in. Fails if the address is in use or the state file cannot be read. */
export async function startStandInStripe(options: StandInOptions = {}): Promise<StandInStripe> {
  const { port = 0, stateFile, webhook, delivery = "twice-shuffled" } = options;
  // Listens before it reads the file: an earlier stand-in on this port writes the file before it frees the port.
  const server = createServer();
  await listen(server, port);
  try {
    const store = new Store(stateFile, webhook?.secret);
    const courier = new Courier(store, delivery);
    const scene = new Scene(store, courier);
    scene.url = `http://${HOST}:${(server.address() as AddressInfo).port}`;
    const faults = new Faults();
    const api = new Api(scene, faults);
    // The endpoints of an earlier run may no longer exist.
    forgetEndpoints(scene, (url) => url !== webhook?.url);
    // Before events are sent: the prepared objects cause no events.
    const priceId = readyPrice(scene).id;
    if (webhook) addEndpoint(scene, webhook.url, webhook.secret);
    const standIn = controls({ scene, courier, faults, api, server, priceId, stateFile });
    server.on("request", application(scene, api, standIn));
    passTime(scene, store.nowMs());
    store.save();
    courier.start();
    return standIn;
  } catch (error) {
    server.close();
    throw error;
  }
}

interface Parts {
  readonly scene: Scene;
  readonly courier: Courier;
  readonly faults: Faults;
  readonly api: Api;
  readonly server: Server;
  readonly priceId: string;
  readonly stateFile: string | undefined;
}

function controls({ scene, courier, faults, api, server, priceId, stateFile }: Parts): StandInStripe {
  const { store, state } = scene;
  // So that errors thrown synchronously also become rejections.
  const saving = async (act: () => void): Promise<void> => {
    passTime(scene, store.nowMs());
    act();
    store.save();
  };
  return {
    get url() {
      return scene.url;
    },
    secretKey: state.secretKey,
    webhookSecret: state.webhookSecret,
    priceId,
    stateFile,
    requests: api.requests,
    sendEventsTo: (url, secret = state.webhookSecret) => addEndpoint(scene, url, secret),
    sendNoEventsTo: (url) => forgetEndpoints(scene, (known) => known === url),
    fail: (fault) => faults.add(fault),
    clearFaults: () => faults.clear(),
    advance: (milliseconds) =>
      saving(() => {
        passTime(scene, store.nowMs() + milliseconds);
        state.clockOffsetMs += milliseconds;
      }),
    now: () => new Date(store.nowMs()),
    delivered: () => courier.idle(),
    pay: (id, given) => saving(() => paySession(scene, findNamed(state.sessions, "checkout.session", id), given)),
    cancelInPortal: (id) => saving(() => cancelInPortal(scene, findNamed(state.subscriptions, "subscription", id))),
    giveUp: (id) => saving(() => giveUpSubscription(scene, findNamed(state.subscriptions, "subscription", id))),
    pause: (id) => saving(() => pauseSubscription(scene, findNamed(state.subscriptions, "subscription", id))),
    setCard(customerId, card) {
      findNamed(state.customers, "customer", customerId).card = card;
      store.save();
    },
    payInvoice: (id) => saving(() => payInvoice(scene, findNamed(state.invoices, "invoice", id))),
    async [Symbol.asyncDispose]() {
      await courier.stop();
      store.save();
      const closed = once(server, "close");
      server.close();
      // Requests that are never answered would keep the server open.
      server.closeAllConnections();
      await closed;
    },
  };
}

/** Adds an endpoint; for an existing address only the secret changes. */
function addEndpoint(scene: Scene, url: string, secret: string): void {
  const { endpoints } = scene.state;
  const known = Object.values(endpoints).find((endpoint) => !endpoint.madeByApi && endpoint.url === url);
  if (known) {
    known.secret = secret;
    return;
  }
  const id = newId("we");
  endpoints[id] = {
    id,
    created: scene.now(),
    madeByApi: false,
    url,
    secret,
    enabledEvents: ["*"],
    status: "enabled",
  };
}

/** Removes endpoints by their address, and returns whether there were any. Those created through the API stay. */
function forgetEndpoints({ state }: Scene, isUnwanted: (url: string) => boolean): boolean {
  const unwanted = Object.values(state.endpoints).filter(({ madeByApi, url }) => !madeByApi && isUnwanted(url));
  for (const { id } of unwanted) delete state.endpoints[id];
  return unwanted.length > 0;
}

async function listen(server: Server, port: number): Promise<void> {
  const listening = once(server, "listening");
  // A keep-alive connection that closes while the next request is sent would look like an unwanted fault.
  server.keepAliveTimeout = KEEP_ALIVE_MS;
  server.listen(port, HOST);
  // `once` rejects with the server's `error` event.
  await listening;
}
