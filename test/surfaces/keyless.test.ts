import { getIntrospectionQuery } from "graphql";
import { expect, it } from "vitest";
import { ask } from "../support/http.js";
import { openConnection, nextAnswer, saidIn } from "../support/socket.js";
import { type World, createWorld } from "../support/world.js";

/** Sends only the head, to show that the answer comes before the body is read. */
async function sendHead(url: string, path: string, header = ""): Promise<{ status: number }> {
  const socket = openConnection(url);
  socket.write(
    `POST ${path} HTTP/1.1\r\nHost: a\r\n${header}Content-Type: application/json\r\nContent-Length: 900\r\n\r\n`,
  );
  const { status } = saidIn(await nextAnswer(socket));
  socket.destroy();
  return { status };
}

it("charges requests without a key to the address before the body is read, at every door", async () => {
  await using world = await createWorld();
  const { url } = await world.serve();
  const { key } = await world.user();
  const paths = [
    "/docs",
    "/openapi.json",
    "/graphql?query=%7B__typename%7D",
    "/invitations/nothing",
    "/billing/return",
  ];

  for (let round = 0; round < 60; round++) await Promise.all(paths.map((path) => ask(url + path)));

  const refused = await ask(`${url}/docs`);
  expect([refused.status, refused.headers.get("ratelimit-policy")]).toEqual([429, '"keyless";q=300;w=60']);
  for (const path of [
    "/signup",
    "/signup/confirm",
    "/graphql",
    "/invitations/nothing/answer",
    "/invitations/nothing/code",
    "/invitations/by-id/nothing/mail",
    "/teams/invitations/by-id/nothing/mail",
  ]) {
    expect([path, await sendHead(url, path)]).toEqual([path, { status: 429 }]);
  }
  for (const path of ["/v1/memories/%ff", "/teams/%ff", "/nothing"])
    expect([path, (await ask(url + path)).status]).toEqual([path, 429]);
  // Where no key is needed, sending one does not avoid the charge.
  for (const path of ["/signup", "/invitations/nothing/answer"]) {
    expect(await sendHead(url, path, "Authorization: Bearer nonsense\r\n")).toEqual({ status: 429 });
  }
  expect((await ask(`${url}/me`, { key })).status).toBe(200);
  expect((await ask(`${url}/healthz`)).status).toBe(200);
});

it("refuses a wrong key at every door, even if no key is needed", async () => {
  await using world = await createWorld();
  const { url } = await world.serve();
  const body = { email: "ann@example.com" };
  const query = `mutation { signUp(input: { email: "${body.email}" }) { email } }`;

  for (const key of ["nonsense", `mg_live_${"a".repeat(38)}`]) {
    const [byRest, byGraphQL] = [
      await ask(`${url}/signup`, { key, body }),
      await ask(`${url}/graphql`, { key, body: { query } }),
    ];
    expect([byRest.status, byGraphQL.status]).toEqual([401, 401]);
    expect(byRest.headers.get("www-authenticate")).toBe("Bearer");
  }
  expect((await ask(`${url}/signup`, { body })).status).toBe(202);
  // A valid key changes nothing.
  const { key } = await world.user();
  expect((await ask(`${url}/signup`, { key, body })).status).toBe(202);
});

it("refuses payment events without a signature from an address with too many wrong ones", async () => {
  await using world = await createWorld();
  const { url } = await world.serve(billing);
  const path = "/billing/stripe-webhook";

  for (let n = 0; n < 60; n++) expect((await ask(url + path, { body: {} })).status).toBe(400);

  expect(await sendHead(url, path)).toEqual({ status: 429 });
});

it("charges introspection without a key by its size, unless its answer is known", async () => {
  await using world = await createWorld();
  const { url } = await world.serve();
  const { key } = await world.user();
  const usual = getIntrospectionQuery();
  const withVariable = usual
    .replace("Query {", "Query($all: Boolean) {")
    .replaceAll("Deprecated: true", "Deprecated: $all");
  const takenBy = async (body: object, asker: { key?: string } = {}) => {
    const left = async (query: object) => {
      const { status, headers } = await ask(`${url}/graphql`, { ...asker, body: query });
      return { status, left: Number(/r=(\d+)/.exec(headers.get("ratelimit") ?? "")?.[1]) };
    };
    const before = await left({ query: "{ __typename }" });
    const after = await left(body);
    return { status: after.status, taken: before.left - after.left };
  };

  const first = await takenBy({ query: usual });
  expect(first.taken).toBeGreaterThan(5);
  expect(first.taken).toBeLessThan(21);
  expect(await takenBy({ query: usual })).toEqual({ status: 200, taken: 1 });
  expect(await takenBy({ query: `${usual} # Changed` })).toEqual(first);
  const again = await takenBy({ query: withVariable, variables: { all: true } });
  expect(again.taken).toBeGreaterThan(1);
  expect(await takenBy({ query: withVariable, variables: { all: true } })).toEqual(again);
  expect(await takenBy({ query: '{ __type(name: "Memory") { name fields { name } } }' })).toEqual({
    status: 200,
    taken: 1,
  });
  expect(await takenBy({ query: `${usual} # With a key` }, { key })).toEqual({ status: 200, taken: 1 });
  const refused = async () => (await takenBy({ query: `${usual} # ${Math.random()}` })).status;
  await expect.poll(refused, { interval: 1 }).toBe(429);
});

it("shows the right remaining budget after an invalid document", async () => {
  await using world = await createWorld();
  const { url } = await world.serve();
  const { key } = await world.user({ plan: "free" });
  const left = async (body: unknown) => {
    const { headers } = await ask(`${url}/graphql`, { key, body });
    return Number(/r=(\d+)/.exec(headers.get("ratelimit") ?? "")?.[1]);
  };

  expect(await left({ query: "{ nope }" })).toBe(59);
  expect(await left({ query: "{" })).toBe(58);
  expect(await left("{")).toBe(57);
  expect(await left("x".repeat(2_000_000))).toBe(56);
  expect(await left({ query: "{ viewer { id } }" })).toBe(55);
});

const billing: Parameters<World["serve"]>[0] = {
  STRIPE_API_BASE: "http://127.0.0.1:1",
  STRIPE_SECRET_KEY: "sk_test_nothing",
  STRIPE_WEBHOOK_SECRET: "whsec_nothing",
  STRIPE_TEAM_PRICE_ID: "price_nothing",
};
