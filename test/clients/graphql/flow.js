import assert from "node:assert/strict";

/** Relay's compiler finds documents by this tag, and requires their names to begin with the file's name. */
const graphql = String.raw;

/** The same documents for every client. */
export const documents = {
  store: graphql`
    mutation flowStoreMutation($input: CreateMemoryInput!) {
      createMemory(input: $input) {
        id
        version
        createdAt
      }
    }
  `,
  link: graphql`
    mutation flowLinkMutation($input: CreateRelationshipInput!) {
      createRelationship(input: $input) {
        id
        strength
        context
      }
    }
  `,
  search: graphql`
    query flowSearchQuery($query: String!, $tags: [String!]) {
      searchMemories(query: $query, tags: $tags, graph: PERSONAL) {
        total
        memories {
          memoryId
          relevance
          memory {
            id
            title
          }
        }
      }
    }
  `,
  walk: graphql`
    query flowWalkQuery($id: ID!) {
      memory(id: $id) {
        id
        title
        version
        relationships {
          relationshipId
          type
          direction
          relationship {
            id
            context
          }
          memory {
            id
            title
            relationships {
              relationshipId
              direction
              relationship {
                id
                context
              }
              memory {
                id
                title
              }
            }
          }
        }
      }
    }
  `,
  related: graphql`
    query flowRelatedQuery($id: ID!) {
      relatedMemories(id: $id) {
        memories {
          memoryId
          direction
          depth
          memory {
            id
            title
          }
        }
      }
    }
  `,
  twice: graphql`
    query flowTwiceQuery($one: String!, $other: String!) {
      one: searchMemories(query: $one) {
        memories {
          memoryId
          relevance
        }
      }
      other: searchMemories(query: $other) {
        memories {
          memoryId
          relevance
        }
      }
    }
  `,
  update: graphql`
    mutation flowUpdateMutation($input: UpdateMemoryInput!) {
      updateMemory(input: $input) {
        id
        title
        version
      }
    }
  `,
  list: graphql`
    query flowListQuery($limit: Int!, $cursor: String) {
      memories(limit: $limit, cursor: $cursor) {
        memories {
          id
          title
        }
        nextCursor
      }
    }
  `,
  remove: graphql`
    mutation flowRemoveMutation($input: DeleteMemoryInput!) {
      deleteMemory(input: $input) {
        id
      }
    }
  `,
  team: graphql`
    mutation flowTeamMutation($input: CreateTeamInput!) {
      createTeam(input: $input) {
        id
      }
    }
  `,
  account: graphql`
    query flowAccountQuery {
      viewer {
        id
        team {
          id
          members {
            user {
              id
              email
            }
          }
        }
      }
      teamSubscription {
        id
        status
      }
      apiKeys {
        keys {
          id
          name
        }
      }
    }
  `,
  key: graphql`
    mutation flowKeyMutation($input: CreateApiKeyInput!) {
      createApiKey(input: $input) {
        id
        key
      }
    }
  `,
  revoke: graphql`
    mutation flowRevokeMutation($input: RevokeApiKeyInput!) {
      revokeApiKey(input: $input) {
        id
      }
    }
  `,
};

export const isQuery = (name) => documents[name].trimStart().startsWith("query");

/**
 * What an application does, with any client: `connect(url, key)` returns a function that runs one of the documents,
 * caches as the client does, and returns `{ data }` or `{ errors }` as the client reports them.
 */
export async function flow(connect, url, key) {
  const ask = connect(url, key);
  const done = async (name, variables) => {
    const { data, errors } = await ask(name, variables);
    assert.equal(errors, undefined, `${name}: ${JSON.stringify(errors)}`);
    return data;
  };
  const stored = async (type, title) => {
    const { createMemory } = await done("store", { input: { type, title, content: `${title}.`, tags: ["Net"] } });
    assert.equal(createMemory.version, 1);
    assert.ok(Date.parse(createMemory.createdAt) > 0);
    return createMemory.id;
  };

  const problem = await stored("problem", "Requests fail");
  const solution = await stored("solution", "Retry with backoff");
  const { createRelationship } = await done("link", {
    input: { fromMemoryId: solution, toMemoryId: problem, relationshipType: "SOLVES", strength: 0.9 },
  });
  assert.deepEqual([createRelationship.strength, createRelationship.context], [0.9, null]);

  const { searchMemories } = await done("search", { query: "backoff", tags: ["net"] });
  assert.equal(searchMemories.total, 1);
  assert.equal(searchMemories.memories[0].memory.title, "Retry with backoff");
  assert.ok(searchMemories.memories[0].relevance > 0);

  const { memory } = await done("walk", { id: solution });
  const [step] = memory.relationships;
  assert.deepEqual([step.type, step.direction, step.memory.title], ["SOLVES", "OUT", "Requests fail"]);
  const [back] = step.memory.relationships;
  assert.deepEqual([back.relationshipId, back.direction, back.memory.id], [step.relationshipId, "IN", solution]);
  assert.deepEqual(back.relationship, step.relationship);

  // Caches that keep one object for each id must not mix values that depend on the starting memory.
  const [fromSolution, fromProblem] = [await done("related", { id: solution }), await done("related", { id: problem })];
  const [again] = (await done("related", { id: solution })).relatedMemories.memories;
  const ways = [fromSolution, fromProblem].map(({ relatedMemories }) => relatedMemories.memories[0]);
  assert.deepEqual(
    [...ways, again].map(({ memoryId, direction }) => [memoryId, direction]),
    [
      [problem, "OUT"],
      [solution, "IN"],
      [problem, "OUT"],
    ],
  );
  const twice = await done("twice", { one: "retry with backoff", other: "solution retry" });
  const [best, worse] = [twice.one, twice.other].map(({ memories }) => memories[0]);
  assert.equal(best.memoryId, worse.memoryId);
  assert.ok(best.relevance > worse.relevance, `${best.relevance} > ${worse.relevance}`);

  const update = (title) => ({ input: { id: solution, title, expectedVersion: 1 } });
  assert.equal((await done("update", update("Retry later"))).updateMemory.version, 2);
  const { errors } = await ask("update", update("Retry never"));
  assert.equal(errors.length, 1);
  assert.deepEqual(errors[0].path, ["updateMemory"]);
  assert.deepEqual(errors[0].extensions, { code: "CONFLICT", reason: "version_mismatch", details: { version: 2 } });
  const after = await done("walk", { id: solution });
  assert.deepEqual([after.memory.title, after.memory.version], ["Retry later", 2]);

  const { memories: first } = await done("list", { limit: 1 });
  const { memories: second } = await done("list", { limit: 1, cursor: first.nextCursor });
  assert.deepEqual(
    [first, second].map((page) => page.memories[0].id),
    [solution, problem],
  );
  assert.equal(second.nextCursor, null);

  // Objects of different types have the same id here: a user, a key and a memory are shown in several ways.
  await done("team", { input: { name: "Platform", maxMembers: 2 } });
  const { createApiKey } = await done("key", { input: { name: "Script" } });
  const { viewer, teamSubscription, apiKeys } = await done("account");
  assert.equal(viewer.team.members[0].user.id, viewer.id);
  assert.deepEqual([teamSubscription.id, teamSubscription.status], [null, "none"]);
  assert.deepEqual([apiKeys.keys[0].id, apiKeys.keys[0].name], [createApiKey.id, "Script"]);
  assert.equal((await done("revoke", { input: { id: createApiKey.id } })).revokeApiKey.id, createApiKey.id);
  const removed = await done("remove", { input: { id: problem, graph: "PERSONAL" } });
  assert.equal(removed.deleteMemory.id, problem);

  const { errors: refusals } = await connect(url, "mg_live_nobody")("list", { limit: 1 });
  assert.equal(refusals[0].extensions.code, "UNAUTHORIZED");
}
