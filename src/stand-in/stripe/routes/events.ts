import { endpointObject } from "../objects.js";
import { COMMON, PAGING, boolean, fields, list, optional, text, webAddress } from "../params.js";
import type { Scene } from "../scene.js";
import { type EndpointRecord, type EventRecord, newId, randomText } from "../state.js";
import { type Route, findNamed, listOf, route } from "./route.js";

const EVENTS = fields({
  ...PAGING,
  type: optional(text()),
});

const ENDPOINT = fields({
  ...COMMON,
  url: webAddress,
  enabled_events: list(text()),
});

const CHANGE = fields({
  ...COMMON,
  url: optional(webAddress),
  enabled_events: optional(list(text())),
  disabled: optional(boolean),
});

/** Events and webhook endpoints. */
export const eventRoutes: readonly Route[] = [
  route("GET", "/v1/events", EVENTS, (scene, params) => {
    const events = Object.values(scene.state.events);
    const matching = params.type === undefined ? events : events.filter(({ type }) => type === params.type);
    return listOf("/v1/events", matching, params, (event) => eventObject(scene, event));
  }),
  route("POST", "/v1/webhook_endpoints", ENDPOINT, (scene, params) => {
    const endpoint: EndpointRecord = {
      id: newId("we"),
      created: scene.now(),
      madeByApi: true,
      url: params.url,
      secret: `whsec_${randomText(32)}`,
      enabledEvents: params.enabled_events,
      status: "enabled",
    };
    scene.state.endpoints[endpoint.id] = endpoint;
    // The secret is returned only once.
    return { ...endpointObject(endpoint), secret: endpoint.secret };
  }),
  route("GET", "/v1/webhook_endpoints", fields(PAGING), ({ state }, params) =>
    listOf("/v1/webhook_endpoints", Object.values(state.endpoints), params, endpointObject),
  ),
  route("POST", "/v1/webhook_endpoints/:id", CHANGE, ({ state }, params, id) => {
    const endpoint = findNamed(state.endpoints, "webhook_endpoint", id);
    endpoint.url = params.url ?? endpoint.url;
    endpoint.enabledEvents = params.enabled_events ?? endpoint.enabledEvents;
    if (params.disabled !== undefined) endpoint.status = params.disabled ? "disabled" : "enabled";
    return endpointObject(endpoint);
  }),
  route("DELETE", "/v1/webhook_endpoints/:id", fields(COMMON), ({ state }, _params, id) => {
    findNamed(state.endpoints, "webhook_endpoint", id);
    delete state.endpoints[id];
    return { id, object: "webhook_endpoint", deleted: true };
  }),
];

const pendingIn = ({ state }: Scene, id: string): number =>
  new Set(
    Object.values(state.deliveries)
      .filter(({ event }) => event === id)
      .map(({ endpoint }) => endpoint),
  ).size;

const eventObject = (scene: Scene, event: EventRecord): object => ({
  ...event,
  pending_webhooks: pendingIn(scene, event.id),
});
