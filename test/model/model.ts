import type { Door, TeamRole } from "../../src/operation/context.js";
import type { Scope } from "../../src/operation/permission.js";

/** What the service is taken to know: small, in memory, and written without a look at how the service does it. */
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
  /** The key with which it ends: the one that made it, or what took that one's place. */
  madeBy: Key | null;
}

/** What memories live in: a person's own, or a team's. */
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
  status: "none" | "active" | "canceled";
  seats: number | null;
  /** From the next period on, if these are fewer. */
  nextSeats: number | null;
  ending: boolean;
  /** How many were bought: only so many are allowed in a time. */
  upgrades: number;
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
  readonly externalId: string | null;
  readonly expiresAt: null;
}

export interface Memory {
  readonly id: string;
  graph: Graph;
  /** All that it was, the present last. */
  readonly versions: (Said & { readonly by: User })[];
  /** The number of the first that is kept. */
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

/** So long after one code there is no other for the same address. */
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

/** The first result of a change that was asked for under an Idempotency-Key. */
export interface Kept {
  readonly user: User;
  readonly idempotencyKey: string;
  readonly operation: string;
  readonly door: "rest" | "graphql" | "mcp";
  readonly input: object;
  readonly output: unknown;
  readonly keptAt: number;
}

/** How long such a result is kept. */
export const KEPT_MS = 24 * 3_600_000;

/** Stands for whatever the service answers there. */
export const ANY = "\u0000 anything";

export class Model {
  users: User[] = [];
  readonly teams: Team[] = [];
  /** Those that are there; what is gone is remembered by its id alone. */
  memories: Memory[] = [];
  links: Link[] = [];
  readonly goneIds: string[] = [];
  invitations: Invitation[] = [];
  /** Those that were sent to an address and not used. */
  readonly codes = new Map<string, Code[]>();
  readonly seenCodes = new Set<string>();
  /** When an address was sent invitations. */
  readonly invitedAt = new Map<string, number[]>();
  audit: AuditEntry[] = [];
  kept: Kept[] = [];
  /** How much time has passed that nobody has waited for. */
  travelledMs = 0;
  private readonly names = new Map<string, string>();
  private readonly counts = new Map<string, number>();
  private words = 0;

  /** What its addresses are told from those of others by. */
  constructor(readonly name: string) {}

  /** Another of the same, to try out what would come of something. */
  copy(): Model {
    // All at once, so that what is one thing here is one thing there.
    return Object.assign(new Model(this.name), structuredClone({ ...this }));
  }

  become(other: Model): void {
    Object.assign(this, other);
  }

  /** Now, by the clock on which the times here stand: it counts the time that was skipped. */
  now(): number {
    return Date.now() + this.travelledMs;
  }

  /** Gives a thing a name that people can read. */
  christen(kind: string, id: string): void {
    const count = (this.counts.get(kind) ?? 0) + 1;
    this.counts.set(kind, count);
    this.names.set(id, `${kind} ${count}`);
  }

  /** A text in which every id that is known stands by its name. */
  readable(text: string): string {
    let readable = text;
    for (const [id, name] of this.names) readable = readable.replaceAll(id, name);
    return readable;
  }

  /** A time of the service, which never hears that time was skipped: its past is moved back instead. */
  fromService(time: unknown): number {
    return Date.parse(String(time)) + this.travelledMs;
  }

  /** An id of long ago. */
  newId(): string {
    return `01700000-0000-7000-8000-${String((this.words += 1)).padStart(12, "0")}`;
  }

  /** When something was stored, by its UUIDv7. */
  timeOfId(id: string): number {
    return Number.parseInt(id.replaceAll("-", "").slice(0, 12), 16) + this.travelledMs;
  }

  toService(time: number): string {
    return new Date(time - this.travelledMs).toISOString();
  }

  /** A word that no other looks like: letters that differ in most places, and no ending that a language has. */
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

  /** A key and all that end with it: those it made, those that these made, and so on, as far as they still work. */
  withDescendants(key: Key): Key[] {
    const children = key.owner.keys.filter((each) => each.madeBy === key && this.opens(each));
    return [key, ...children.flatMap((child) => this.withDescendants(child))];
  }

  /** Whoever may no longer invite leaves no open invitation behind. Answers with how many there were. */
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

  /** The memory that is called so: by its id, or by the one that a client has given it. */
  memoryCalled(graph: Graph, name: string): Memory | undefined {
    const all = this.memoriesIn(graph);
    return all.find(({ id }) => id === name) ?? all.find((memory) => presentOf(memory).externalId === name);
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

  /** The moments after now at which something ends by itself, the next one first. */
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

/** Ids are in the order of time. */
export const newestFirst = (one: { readonly id: string }, other: { readonly id: string }): number =>
  one.id < other.id ? 1 : one.id > other.id ? -1 : 0;

export const presentOf = ({ versions }: Memory): Said & { readonly by: User } => {
  const present = versions.at(-1);
  if (!present) throw new Error("A memory of the model has no version.");
  return present;
};

export const versionOf = ({ firstVersion, versions }: Memory): number => firstVersion + versions.length - 1;
