import { serverAudits } from "graphql-http";
import { expect, it } from "vitest";
import { createWorld } from "../support/world.js";

/**
 * A document that GraphQL cannot run is answered with 400 for either media type. For `application/json` the audits
 * prefer 200, for clients that read no other answer. Every client tested here reads 400 too, and monitoring by status
 * is not misled.
 */
const CLIENT_ERRORS_ARE_NO_SUCCESS = [
  "warn 572B SHOULD use 200 status code on document parsing failure when accepting application/json",
  "warn FDE2 SHOULD use 200 status code on document validation failure when accepting application/json",
  "warn 7B9B SHOULD use a status code of 200 on variable coercion failure when accepting application/json",
];

/** A GET that any web page could make a browser send, without key or preflight, is refused. */
const NO_CROSS_SITE_REQUESTS = [
  "notice 5A70 MAY accept application/x-www-form-urlencoded formatted GET requests",
  "notice D6D5 MAY allow URL-encoded JSON string {variables} parameter in GETs when accepting application/graphql-response+json",
  "notice 6A70 MAY allow URL-encoded JSON string {variables} parameter in GETs when accepting application/json",
];

it.each([
  ["without a key", false, [...NO_CROSS_SITE_REQUESTS, ...CLIENT_ERRORS_ARE_NO_SUCCESS]],
  ["with a key", true, CLIENT_ERRORS_ARE_NO_SUCCESS],
])("passes the audits of GraphQL over HTTP %s, except for intended differences", async (_who, hasKey, expected) => {
  await using world = await createWorld();
  const { url } = await world.serve();
  const { key } = await world.user();
  const fetchFn = (address: string, init: RequestInit = {}) => {
    const headers = new Headers(init.headers);
    if (hasKey) headers.set("authorization", `Bearer ${key}`);
    return fetch(address, { ...init, headers });
  };

  const audits = serverAudits({ url: `${url}/graphql`, fetchFn });
  const results = await Promise.all(audits.map(({ fn }) => fn()));

  expect(results.length).toBeGreaterThan(60);
  const remarks = results.filter(({ status }) => status !== "ok");
  expect(remarks.map(({ status, id, name }) => `${status} ${id} ${name}`)).toEqual(expected);
  expect(world.bugs).toEqual([]);
});
