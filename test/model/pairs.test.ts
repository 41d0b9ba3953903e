import { expect, it } from "vitest";
import { operationNamed } from "../support/operations.js";
import { answered, judge, judgeTogether } from "./judge.js";
import type { Model } from "./model.js";
import type { Question } from "./question.js";
import { type Real, startReal } from "./real.js";
import { newModel } from "./run.js";
import { roundsOf } from "../support/rounds.js";

/** How often each pair runs at the same moment, each time at other doors. */
const ROUNDS = roundsOf(8);

type Ask = readonly [who: string, name: string, input: object];

/** Creates the state before, and returns the two simultaneous requests. */
const PAIRS: Readonly<Record<string, (scene: Scene) => Promise<readonly [Ask, Ask]>>> = {
  async "two accept, and one seat is left"(scene) {
    const team = await scene.team(3);
    const [bob, cid] = [await scene.invited("bob", team), await scene.invited("cid", team)];
    await scene.did("ann", "updateTeam", { teamId: team, maxMembers: 2 });
    return [
      ["bob", "acceptInvitation", { token: bob }],
      ["cid", "acceptInvitation", { token: cid }],
    ];
  },
  async "two invite for the last seat"(scene) {
    const teamId = await scene.team(2);
    const invite = (who: string): Ask => ["ann", "inviteMember", { teamId, email: scene.emailOf(who), role: "member" }];
    return [invite("bob"), invite("cid")];
  },
  async "two update the same version"(scene) {
    const id = await scene.memory();
    return [
      ["ann", "updateMemory", { id, title: "One", expectedVersion: 1 }],
      ["ann", "updateMemory", { id, title: "Two", expectedVersion: 1 }],
    ];
  },
  async "two link the same memories"(scene) {
    const ends = { fromMemoryId: await scene.memory(), toMemoryId: await scene.memory() };
    const link: Ask = ["ann", "createRelationship", { ...ends, relationshipType: "CAUSES" }];
    return [link, link];
  },
  async "a memory is deleted on the way of a walk"(scene) {
    const [start, middle] = await scene.chain(3);
    return [
      ["ann", "deleteMemory", { id: middle }],
      ["ann", "relatedMemories", { id: start, maxDepth: 3, direction: "any", limit: 20 }],
    ];
  },
  async "a memory is deleted on a path"(scene) {
    const [start, middle, , end] = await scene.chain(4);
    return [
      ["ann", "deleteMemory", { id: middle }],
      ["ann", "memoryPath", { fromMemoryId: start, toMemoryId: end, maxDepth: 6, direction: "any" }],
    ];
  },
  async "a memory is deleted while the graph is drawn"(scene) {
    const [, middle] = await scene.chain(3);
    return [
      ["ann", "deleteMemory", { id: middle }],
      ["ann", "memoryGraph", { limit: 100, maxDepth: 2 }],
    ];
  },
  async "a memory is changed while somebody asks what changed"(scene) {
    const [id] = await scene.chain(3);
    return [
      ["ann", "updateMemory", { id, type: "problem" }],
      ["ann", "recentActivity", { days: 7, offset: 0, unresolvedOffset: 0 }],
    ];
  },
  async "a memory is deleted while something is linked to it"(scene) {
    const ends = { fromMemoryId: await scene.memory(), toMemoryId: await scene.memory() };
    return [
      ["ann", "deleteMemory", { id: ends.toMemoryId }],
      ["ann", "createRelationship", { ...ends, relationshipType: "SOLVES" }],
    ];
  },
  async "a team is transferred to somebody who leaves it"(scene) {
    const teamId = await scene.team(3);
    await scene.did("bob", "acceptInvitation", { token: await scene.invited("bob", teamId) });
    return [
      ["ann", "transferTeam", { teamId, userId: scene.userOf("bob").id }],
      ["bob", "leaveTeam", { teamId }],
    ];
  },
  async "a team is deleted while somebody joins it"(scene) {
    const teamId = await scene.team(3);
    const token = await scene.invited("bob", teamId);
    return [
      ["ann", "deleteTeam", { teamId }],
      ["bob", "acceptInvitation", { token }],
    ];
  },
  async "an invitation is taken back while it is accepted"(scene) {
    const teamId = await scene.team(3);
    const token = await scene.invited("bob", teamId);
    const invitationId = scene.model.invitations.find((known) => known.token === token)?.id ?? "";
    return [
      ["ann", "revokeInvitation", { teamId, invitationId }],
      ["bob", "acceptInvitation", { token }],
    ];
  },
  async "somebody is removed while they share what they have"(scene) {
    const teamId = await scene.team(3);
    const id = await scene.memory("bob");
    await scene.did("bob", "acceptInvitation", { token: await scene.invited("bob", teamId) });
    return [
      ["ann", "removeMember", { teamId, userId: scene.userOf("bob").id }],
      ["bob", "shareMemories", { ids: [id] }],
    ];
  },
};

class Scene {
  #asked = 0;

  constructor(
    readonly model: Model,
    private readonly real: Real,
  ) {}

  userOf(who: string) {
    const user = this.model.users.find(({ email }) => email.startsWith(`${who}.`));
    if (!user) throw new Error(`There is no ${who} here.`);
    return user;
  }

  emailOf = (who: string): string => this.userOf(who).email;

  /** Alternates between the two doors. */
  asks([who, name, input]: Ask): Question {
    const user = this.userOf(who);
    const [key] = user.keys;
    if (!key) throw new Error(`${who} has no key.`);
    const door = this.#asked++ % 2 === 0 ? "rest" : "graphql";
    const what = { operation: operationNamed(name), input: { ...input }, isSpoiled: false };
    return { ...what, me: { user, key, door }, key: key.secret, idempotencyKey: undefined };
  }

  async did(...ask: Ask): Promise<string> {
    const question = this.asks(ask);
    const verdict = await answered(this.real, question);
    await judge(this.model, this.real, question, verdict);
    return verdict.ok ? String(verdict.output?.["id"]) : "";
  }

  team = (maxMembers: number): Promise<string> => this.did("ann", "createTeam", { name: "Team", maxMembers });

  memory(who = "ann"): Promise<string> {
    return this.did(who, "createMemory", { type: "general", title: this.model.newWord(), content: "Something." });
  }

  async chain(length: number): Promise<string[]> {
    const ids = [];
    for (let index = 0; index < length; index++) ids.push(await this.memory());
    for (const [index, id] of ids.slice(1).entries()) {
      const ends = { fromMemoryId: ids[index], toMemoryId: id };
      await this.did("ann", "createRelationship", { ...ends, relationshipType: "FOLLOWS" });
    }
    return ids;
  }

  /** The token of a new user's invitation. */
  async invited(who: string, teamId: string): Promise<string> {
    await this.did("ann", "inviteMember", { teamId, email: this.emailOf(who), role: "member" });
    return this.model.invitations.at(-1)?.token ?? "";
  }
}

it.each(Object.entries(PAIRS))("answers as if one request had come first when %s", async (_name, set) => {
  await using real = await startReal();

  for (let round = 0; round < ROUNDS; round++) {
    const scene = new Scene(await newModel(real), real);
    const [one, other] = (await set(scene)).map((ask) => scene.asks(ask));
    if (!one || !other) throw new Error("It takes two.");
    const [first, second] = await Promise.all([answered(real, one), answered(real, other)]);
    await judgeTogether(scene.model, real, [
      { question: one, verdict: first },
      { question: other, verdict: second },
    ]);
  }

  expect(real.world.bugs).toEqual([]);
});

/** Reads of a chain of three memories. */
const READS = ([first, middle, last]: readonly string[]): readonly Ask[] => [
  ["ann", "memory", { id: middle }],
  ["ann", "relatedMemories", { id: first, maxDepth: 3, direction: "any", limit: 20 }],
  ["ann", "memoryPath", { fromMemoryId: first, toMemoryId: last, maxDepth: 6, direction: "any" }],
];

it.each(["rest", "graphql", "mcp"] as const)(
  "judges what a door answers, even if it leaves something out: %s",
  async (door) => {
    await using real = await startReal();
    const scene = new Scene(await newModel(real), real);

    for (const ask of READS(await scene.chain(3))) {
      const asked = scene.asks(ask);
      const question = { ...asked, me: { ...asked.me, door } };
      await judge(scene.model, real, question, await answered(real, question));
    }

    expect(real.world.bugs).toEqual([]);
  },
);
