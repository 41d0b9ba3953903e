import type { Door, TeamRole } from "../../src/operation/context.js";
import type { Scope } from "../../src/operation/permission.js";

/** A model of what the service stores: small, in memory, and written independently of the service's code. */
export interface User {
  readonly id: string;
  email: string;
  name: string | null;
  verified: boolean;
  readonly keys: Key[];
  readonly personal: Graph;
}

export interface Key {
  readonly id: string;
  readonly secret: string;
  readonly owner: User;
  readonly name: string;
  readonly scopes: readonly Scope[];
  readonly madeAt: number;
  endsAt: number | null;
  revoked: boolean;
  replaced: boolean;
  /** The key whose end also ends this one: the key that created it, or that key's successor. */
  madeBy: Key | null;
}

/** The owner of memories: a user's own graph, or a team's. */
export interface Graph {
  readonly team: Team | null;
}

export interface Team {
  readonly id: string;
  name: string;
  maxMembers: number;
  readonly members: Map<User, TeamRole>;
  readonly graph: Graph;
  readonly billing: Billing;
  deleted: boolean;
}

export interface Billing {
  checkout: { readonly sessionId: string; readonly seats: number } | null;
  /** Whether the team has ever opened a checkout, which creates the customer. */
  hasCustomer: boolean;
  status: "none" | "active" | "canceled";
  seats: number | null;
  /** The seats from the next period on, if they are fewer. */
  nextSeats: number | null;
  ending: boolean;
  /** The number of upgrades: only so many are allowed in a time. */
  upgrades: number;
  /** How many invoices the provider has made, all of them paid. */
  invoices: number;
}

export interface Said {
  readonly type: string;
  readonly title: string;
  readonly content: string;
  readonly summary: string | null;
  readonly tags: readonly string[];
  readonly importance: number;
  readonly context: unknown;
  readonly confidence: number;
  readonly clientId: string | null;
  readonly expiresAt: null;
}

export interface Memory {
  readonly id: string;
  graph: Graph;
  /** All versions that are kept, the current one last. */
  readonly versions: (Said & { readonly by: User })[];
  /** The number of the earliest kept version. */
  firstVersion: number;
  readonly createdBy: User;
  readonly createdAt: number;
  changedAt: number;
}

export interface Link {
  readonly id: string;
  readonly from: Memory;
  readonly to: Memory;
  readonly type: string;
  strength: number;
  confidence: number;
  context: string | null;
}

export interface Invitation {
  readonly id: string;
  readonly team: Team;
  readonly email: string;
  readonly role: "admin" | "member";
  readonly by: User;
  readonly token: string;
  endsAt: number;
  settled: "accepted" | "declined" | "revoked" | null;
}

export interface Code {
  readonly code: string;
  readonly long: string;
  readonly sentAt: number;
  readonly endsAt: number;
  triesLeft: number;
}

/** The minimum time between two codes for the same address. */
export const CODE_GAP_MS = 60_000;

export interface AuditEntry {
  readonly action: string;
  readonly actorId: string;
  readonly keyId: string;
  readonly door: Door;
  readonly teamId: string | null;
  readonly subject: string | null;
  readonly detail: string | null;
}

/** The first result of a change with an Idempotency-Key. */
export interface Kept {
  readonly user: User;
  readonly idempotencyKey: string;
  readonly operation: string;
  readonly door: "rest" | "graphql" | "mcp";
  /** Of the key: a result may contain what another key may not read. */
  readonly scopes: readonly string[];
  readonly input: object;
  readonly output: unknown;
  readonly keptAt: number;
}

/** How long such a result is kept. */
export const KEPT_MS = 24 * 3_600_000;

/** Matches whatever the service answers in this place. */
export const ANY = "\u0000 anything";

export class Model {
  users: User[] = [];
  readonly teams: Team[] = [];
  /** Existing memories; of deleted ones only the ids are remembered. */
  memories: Memory[] = [];
  links: Link[] = [];
  readonly goneIds: string[] = [];
  invitations: Invitation[] = [];
  /** Unused codes that were sent to an address. */
  readonly codes = new Map<string, Code[]>();
  readonly seenCodes = new Set<string>();
  /** The times at which invitations were sent to an address, or by the link of an invitation. */
  readonly invitedAt = new Map<string, number[]>();
  audit: AuditEntry[] = [];
  kept: Kept[] = [];
  /** How much time was skipped. */
  travelledMs = 0;
  private readonly names = new Map<string, string>();
  private readonly counts = new Map<string, number>();
  private words = 0;

  /** The name distinguishes its addresses from those of other models. */
  constructor(readonly name: string) {}

  /** A copy, to try out what an operation would lead to. */
  copy(): Model {
    // All fields in one clone, so that shared objects stay shared.
    return Object.assign(new Model(this.name), structuredClone({ ...this }));
  }

  become(other: Model): void {
    Object.assign(this, other);
  }

  /** The current time by the model's clock, which includes skipped time. */
  now(): number {
    return Date.now() + this.travelledMs;
  }

  /** Gives an object a readable name. */
  christen(kind: string, id: string): void {
    const count = (this.counts.get(kind) ?? 0) + 1;
    this.counts.set(kind, count);
    this.names.set(id, `${kind} ${count}`);
  }

  /** The text with every known id replaced by its name. */
  readable(text: string): string {
    let readable = text;
    for (const [id, name] of this.names) readable = readable.replaceAll(id, name);
    return readable;
  }

  /** Converts a time of the service, whose clock does not skip: its stored times are moved back instead. */
  fromService(time: unknown): number {
    return Date.parse(String(time)) + this.travelledMs;
  }

  /** An id from long ago. */
  newId(): string {
    return `01700000-0000-7000-8000-${String((this.words += 1)).padStart(12, "0")}`;
  }

  /** The time in a UUIDv7, at which something was stored. */
  timeOfId(id: string): number {
    return Number.parseInt(id.replaceAll("-", "").slice(0, 12), 16) + this.travelledMs;
  }

  toService(time: number): string {
    return new Date(time - this.travelledMs).toISOString();
  }

  /** A word unlike all others: its letters differ in most places, and it has no inflectional ending. */
  newWord(): string {
    let state = (this.words += 1) * 2_654_435_761;
    const letters = Array.from({ length: 14 }, () => {
      state = (Math.imul(state ^ (state >>> 15), 2_246_822_519) + 374_761_393) >>> 0;
      return "bcdfghjkmnpqrtvwxz"[state % 18] ?? "";
    });
    return letters.join("");
  }

  teamOf(user: User): Team | null {
    return this.teams.find((team) => !team.deleted && team.members.has(user)) ?? null;
  }

  userNamed(email: string): User | undefined {
    return this.users.find((user) => user.email === email);
  }

  opens(key: Key): boolean {
    return !key.revoked && (key.endsAt === null || key.endsAt > this.now());
  }

  statusOf({ settled, endsAt }: Invitation): "pending" | "accepted" | "declined" | "revoked" | "expired" {
    return settled ?? (endsAt <= this.now() ? "expired" : "pending");
  }

  openCodes(email: string): Code[] {
    return (this.codes.get(email) ?? []).filter(({ endsAt }) => endsAt > this.now());
  }

  /** A key and all that end with it: its descendants that are still valid. */
  withDescendants(key: Key): Key[] {
    const children = key.owner.keys.filter((each) => each.madeBy === key && this.opens(each));
    return [key, ...children.flatMap((child) => this.withDescendants(child))];
  }

  /** Withdraws the pending invitations of a member who may no longer invite. Returns their number. */
  withdrawInvitations(team: Team, by: User): number {
    const open = this.pendingOf(team).filter((invitation) => invitation.by === by);
    for (const invitation of open) invitation.settled = "revoked";
    return open.length;
  }

  pendingOf(team: Team): Invitation[] {
    return this.invitations.filter((invitation) => invitation.team === team && this.statusOf(invitation) === "pending");
  }

  memoriesIn(graph: Graph): Memory[] {
    return this.memories.filter((memory) => memory.graph === graph).sort(newestFirst);
  }

  /** The memory with this id or client id. */
  memoryCalled(graph: Graph, name: string): Memory | undefined {
    const all = this.memoriesIn(graph);
    return all.find(({ id }) => id === name) ?? all.find((memory) => presentOf(memory).clientId === name);
  }

  linksIn(graph: Graph): Link[] {
    return this.links.filter(({ from }) => from.graph === graph);
  }

  linksOf(memory: Memory): Link[] {
    return this.links.filter(({ from, to }) => from === memory || to === memory).sort(newestFirst);
  }

  forget(memory: Memory): void {
    for (const link of this.linksOf(memory)) this.forgetLink(link);
    this.memories = this.memories.filter((known) => known !== memory);
    this.goneIds.push(memory.id);
  }

  forgetLink(link: Link): void {
    this.links = this.links.filter((known) => known !== link);
    this.goneIds.push(link.id);
  }

  forgetTeam(team: Team): void {
    team.deleted = true;
    for (const memory of this.memoriesIn(team.graph)) this.forget(memory);
    this.invitations = this.invitations.filter((invitation) => invitation.team !== team);
    team.members.clear();
  }

  /** The future times at which something ends by itself, the next one first. */
  ends(): number[] {
    const ends = [
      ...this.users.flatMap(({ keys }) => keys.flatMap((key) => (this.opens(key) && key.endsAt ? [key.endsAt] : []))),
      ...this.invitations.filter((one) => this.statusOf(one) === "pending").map(({ endsAt }) => endsAt),
      ...this.kept.map(({ keptAt }) => keptAt + KEPT_MS),
      ...Array.from(this.codes.values(), (codes) =>
        codes.flatMap(({ sentAt, endsAt }) => [sentAt + CODE_GAP_MS, endsAt]),
      ).flat(),
    ];
    return ends.filter((end) => end > this.now()).sort((one, other) => one - other);
  }
}

/** Sorts by id, newest first: ids are in the order of time. */
export const newestFirst = (one: { readonly id: string }, other: { readonly id: string }): number =>
  Number(one.id < other.id) - Number(one.id > other.id);

export const presentOf = ({ versions }: Memory): Said & { readonly by: User } => {
  const present = versions.at(-1);
  if (!present) throw new Error("A memory of the model has no version.");
  return present;
};

export const versionOf = ({ firstVersion, versions }: Memory): number => firstVersion + versions.length - 1;
