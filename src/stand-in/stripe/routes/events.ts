import { endpointObject } from "../objects.js";
import { COMMON, PAGING, boolean, clearable, fields, list, metadata, optional, text, webAddress } from "../params.js";
import type { Scene } from "../scene.js";
import { type EndpointRecord, type EventRecord, mergeMetadata, newId, randomText } from "../state.js";
import { type Route, atAddress, exclusive, listOf, route } from "./route.js";

const EVENTS = fields({
  ...PAGING,
  type: optional(text()),
  types: optional(list(text(), 20)),
  delivery_success: optional(boolean),
});

const ENDPOINT = fields({
  ...COMMON,
  url: webAddress,
  enabled_events: list(text()),
  api_version: optional(text()),
  description: optional(clearable()),
  metadata: optional(metadata),
});

const CHANGE = fields({
  ...COMMON,
  url: optional(webAddress),
  enabled_events: optional(list(text())),
  disabled: optional(boolean),
  description: optional(clearable()),
  metadata: optional(metadata),
});

/** Events and webhook endpoints. */
export const eventRoutes: readonly Route[] = [
  route("GET", "/v1/events", EVENTS, (scene, params) => {
    exclusive({ type: params.type, types: params.types });
    const matching = Object.values(scene.state.events).filter(
      ({ id, type }) =>
        (params.type === undefined || params.type === type) &&
        (params.types === undefined || params.types.includes(type)) &&
        (params.delivery_success === undefined || params.delivery_success === isDelivered(scene, id)),
    );
    return listOf("/v1/events", matching, params, (event) => eventObject(scene, event));
  }),
  route("GET", "/v1/events/:id", fields(COMMON), (scene, _params, id) =>
    eventObject(scene, atAddress(scene.state.events, "event", id)),
  ),
  route("POST", "/v1/webhook_endpoints", ENDPOINT, (scene, params) => {
    const endpoint: EndpointRecord = {
      id: newId("we"),
      created: scene.now(),
      madeByApi: true,
      url: params.url,
      secret: `whsec_${randomText(32)}`,
      enabledEvents: params.enabled_events,
      status: "enabled",
      description: params.description ?? null,
      metadata: mergeMetadata({}, params.metadata),
      apiVersion: params.api_version ?? null,
    };
    scene.state.endpoints[endpoint.id] = endpoint;
    // The secret is returned only once.
    return { ...endpointObject(endpoint), secret: endpoint.secret };
  }),
  route("GET", "/v1/webhook_endpoints", fields(PAGING), ({ state }, params) =>
    listOf("/v1/webhook_endpoints", Object.values(state.endpoints), params, endpointObject),
  ),
  route("GET", "/v1/webhook_endpoints/:id", fields(COMMON), ({ state }, _params, id) =>
    endpointObject(atAddress(state.endpoints, "webhook_endpoint", id)),
  ),
  route("POST", "/v1/webhook_endpoints/:id", CHANGE, ({ state }, params, id) => {
    const endpoint = atAddress(state.endpoints, "webhook_endpoint", id);
    endpoint.url = params.url ?? endpoint.url;
    endpoint.enabledEvents = params.enabled_events ?? endpoint.enabledEvents;
    if (params.disabled !== undefined) endpoint.status = params.disabled ? "disabled" : "enabled";
    if (params.description !== undefined) endpoint.description = params.description;
    endpoint.metadata = mergeMetadata(endpoint.metadata, params.metadata);
    return endpointObject(endpoint);
  }),
  route("DELETE", "/v1/webhook_endpoints/:id", fields(COMMON), ({ state }, _params, id) => {
    atAddress(state.endpoints, "webhook_endpoint", id);
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

const isDelivered = (scene: Scene, id: string): boolean => pendingIn(scene, id) === 0;

const eventObject = (scene: Scene, event: EventRecord): object => ({
  ...event,
  pending_webhooks: pendingIn(scene, event.id),
});
