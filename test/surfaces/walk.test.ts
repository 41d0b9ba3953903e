import { expect, it } from "vitest";
import { ask } from "../support/http.js";
import { type MailServer, codeIn, startMailServer, tokenIn } from "../support/mail-server.js";
import { createWorld } from "../support/world.js";

const ANN = "ann@example.com";
const BOB = "bob@example.com";

interface Walk {
  readonly url: string;
  readonly smtp: MailServer;
}

/** What two people do, from nothing to a memory that both read; each step is one request by one door. */
interface Door {
  /** Asks for a code. */
  signUp(walk: Walk, email: string): Promise<unknown>;
  /** Gets a key for the code. */
  confirm(walk: Walk, email: string, code: string): Promise<string>;
  createTeam(walk: Walk, key: string): Promise<string>;
  invite(walk: Walk, key: string, teamId: string, email: string): Promise<unknown>;
  accept(walk: Walk, key: string, token: string): Promise<unknown>;
  remember(walk: Walk, key: string, title: string): Promise<string>;
  titleOf(walk: Walk, key: string, id: string): Promise<string>;
}

const rest: Door = {
  signUp: (walk, email) => byRest(walk, "POST", "/signup", { body: { email } }),
  confirm: async (walk, email, code) =>
    text(await byRest(walk, "POST", "/signup/confirm", { body: { email, code } }), "key"),
  createTeam: async (walk, key) =>
    text(await byRest(walk, "POST", "/teams", { key, body: { name: "Platform", max_members: 5 } }), "id"),
  invite: (walk, key, teamId, email) =>
    byRest(walk, "POST", `/teams/${teamId}/invitations`, { key, body: { email, role: "member" } }),
  accept: (walk, key, token) => byRest(walk, "POST", `/teams/invitations/${token}/accept`, { key }),
  remember: async (walk, key, title) =>
    text(
      await byRest(walk, "POST", "/v1/memories", { key, body: { type: "general", title, content: "For us." } }),
      "id",
    ),
  titleOf: async (walk, key, id) => text(await byRest(walk, "GET", `/v1/memories/${id}`, { key }), "title"),
};

const graphql: Door = {
  signUp: (walk, email) => byGraphQL(walk, `mutation { signUp(input: {email: "${email}"}) { email } }`),
  confirm: async (walk, email, code) => {
    const query = `mutation { confirmSignUp(input: {email: "${email}", code: "${code}"}) { key userId } }`;
    return text(await byGraphQL(walk, query), "key");
  },
  createTeam: async (walk, key) =>
    text(await byGraphQL(walk, 'mutation { createTeam(input: {name: "Platform", maxMembers: 5}) { id } }', key), "id"),
  invite: (walk, key, teamId, email) => {
    const input = `{teamId: "${teamId}", email: "${email}", role: MEMBER}`;
    return byGraphQL(walk, `mutation { inviteMember(input: ${input}) { id status } }`, key);
  },
  accept: (walk, key, token) =>
    byGraphQL(walk, `mutation { acceptInvitation(input: {token: "${token}"}) { status } }`, key),
  remember: async (walk, key, title) => {
    const input = `{type: "general", title: "${title}", content: "For us."}`;
    return text(await byGraphQL(walk, `mutation { createMemory(input: ${input}) { id } }`, key), "id");
  },
  titleOf: async (walk, key, id) => text(await byGraphQL(walk, `{ memory(id: "${id}") { title } }`, key), "title"),
};

it.each([
  ["REST", rest],
  ["GraphQL", graphql],
])("two people found a team and share a memory, by %s alone", async (_name, door) => {
  await using world = await createWorld();
  await using smtp = await startMailServer();
  const { url } = await world.serve({ SMTP_URL: smtp.url });
  const walk = { url, smtp };

  const ann = await keyOf(walk, door, ANN);
  const teamId = await door.createTeam(walk, ann);
  await door.invite(walk, ann, teamId, BOB);
  const token = tokenIn(await smtp.take(BOB));
  const bob = await keyOf(walk, door, BOB);
  await door.accept(walk, bob, token);
  const id = await door.remember(walk, ann, "Retry with backoff");

  expect(await door.titleOf(walk, bob, id)).toBe("Retry with backoff");
  expect(await door.titleOf(walk, ann, await door.remember(walk, bob, "Use jitter"))).toBe("Use jitter");
  expect(world.bugs).toEqual([]);
});

async function keyOf(walk: Walk, door: Door, email: string): Promise<string> {
  await door.signUp(walk, email);
  return door.confirm(walk, email, codeIn(await walk.smtp.take(email)));
}

async function byRest({ url }: Walk, method: string, path: string, asked: { key?: string; body?: object }) {
  const { status, body } = await ask(url + path, { method, ...asked });
  expect(status, JSON.stringify(body)).toBeLessThan(300);
  return body;
}

/** What the one root field answers. */
async function byGraphQL({ url }: Walk, query: string, key?: string): Promise<unknown> {
  const { body } = await ask(`${url}/graphql`, { key, body: { query } });
  const { data, errors } = body as { data?: Readonly<Record<string, unknown>>; errors?: unknown };
  expect(errors).toBeUndefined();
  return Object.values(data ?? {})[0];
}

const text = (answer: unknown, field: string): string => String((answer as Readonly<Record<string, unknown>>)[field]);
