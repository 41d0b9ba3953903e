import { LIMITS } from "../../limits.js";
import { UUID } from "../../operation/bounds.js";
import type { Context } from "../../operation/context.js";
import { type ApiKey, toApiKey } from "../access/index.js";
import { type Invitation, receivedInvitations, sentInvitations } from "../teams/index.js";
import type { Memory, MemoryVersion } from "../memories/index.js";
import type { Relationship } from "../relationships/index.js";
import type { AuditEntry } from "../teams/index.js";

/** The lists of an export, in their order. */
export interface Lists {
  keys: ApiKey[];
  invitationsReceived: Invitation[];
  invitationsSent: Invitation[];
  events: AuditEntry[];
  memories: Memory[];
  versions: Array<MemoryVersion & { memoryId: string }>;
  relationships: Relationship[];
}

/** A place in one list: behind an id, or behind a version of what has this id. */
interface Behind {
  readonly id: string;
  readonly version: number;
}

interface Row<Item> {
  readonly item: Item;
  readonly place: Behind;
}

/** Reads on behind a place, in the order of places. */
type Read<Item> = (context: Context, after: Behind | null, take: number) => Promise<Row<Item>[]>;

const byId = <Item extends { readonly id: string }>(items: readonly Item[]): Row<Item>[] =>
  items.map((item) => ({ item, place: { id: item.id, version: 0 } }));

/** For models: what comes behind an id. */
const behind = (after: Behind | null) => (after === null ? {} : { id: { gt: after.id } });

/** Before all ids. */
const NOWHERE: Behind = { id: "00000000-0000-0000-0000-000000000000", version: 0 };

const READERS: { readonly [Name in keyof Lists]: Read<Lists[Name][number]> } = {
  keys: async ({ caller, database }, after, take) => {
    const where = { userId: caller.userId, ...behind(after) };
    return byId((await database.models.apiKey.findMany({ where, orderBy: { id: "asc" }, take })).map(toApiKey));
  },
  // Without a verified address, invitations to it may be somebody else's.
  invitationsReceived: async ({ caller, database }, after, take) =>
    caller.emailIsVerified ? byId(await receivedInvitations(database, caller.email, after?.id ?? null, take)) : [],
  invitationsSent: async ({ caller, database }, after, take) =>
    byId(await sentInvitations(database, caller.userId, after?.id ?? null, take)),
  events: async ({ caller, database }, after, take) => {
    const where = { actorId: caller.userId, ...behind(after) };
    return byId(await database.models.auditEntry.findMany({ where, orderBy: { id: "asc" }, take }));
  },
  memories: async ({ caller, database }, after, take) => {
    const where = { graphId: caller.personalGraphId, ...behind(after) };
    return byId(await database.models.memory.findMany({ where, orderBy: { id: "asc" }, take }));
  },
  versions: async ({ caller, database }, after, take) => {
    const { id: memoryId, version } = after ?? NOWHERE;
    const isBehind = [{ memoryId: { gt: memoryId } }, { memoryId, version: { gt: version } }];
    const where = { graphId: caller.personalGraphId, OR: isBehind };
    const orderBy = [{ memoryId: "asc" }, { version: "asc" }] as const;
    const rows = await database.models.memoryVersion.findMany({ where, orderBy: [...orderBy], take });
    return rows.map((item) => ({ item, place: { id: item.memoryId, version: item.version } }));
  },
  relationships: async ({ caller, database }, after, take) => {
    const where = { graphId: caller.personalGraphId, ...behind(after) };
    const rows = await database.models.relationship.findMany({ where, orderBy: { id: "asc" }, take });
    return byId(rows.map(({ fromId: from, toId: to, ...rest }) => ({ ...rest, from, to })));
  },
};

const NAMES = Object.keys(READERS) as ReadonlyArray<keyof Lists>;

/** Rows are read a few at a time, so that no more is read than a page has bytes for. */
const READ_AT_ONCE = 10;
/** What a page needs beside its rows: the person, and what JSON writes between. */
const RESERVED_BYTES = 65_536;

/** A place in all of the lists: which of them, and where in it. */
export interface ExportPlace {
  readonly list: number;
  readonly after: Behind | null;
}

const ID_AND_VERSION = `${UUID.source.slice(1, -1)}/\\d{1,9}`;
/** How a place is written in a cursor, such as `4/019bb153-8740-7c2d-8e3f-405162738495/0`. */
export const PLACE_FORM = new RegExp(`^\\d(?:/${ID_AND_VERSION})?$`, "i");

export const writePlace = ({ list, after }: ExportPlace): string =>
  after ? `${list}/${after.id}/${after.version}` : String(list);

export function readPlace(text: string | null): ExportPlace {
  const [list = "0", id, version] = text?.split("/") ?? [];
  return { list: Number(list), after: id === undefined ? null : { id, version: Number(version) } };
}

/** Up to `limit` rows from a place on, and no more than a page may have bytes; null as the next place at the end. */
export async function pageOfLists(context: Context, from: ExportPlace, limit: number) {
  const lists: Lists = {
    ...{ keys: [], invitationsReceived: [], invitationsSent: [], events: [] },
    ...{ memories: [], versions: [], relationships: [] },
  };
  let [room, bytes] = [limit, LIMITS.answer.restPageBytes - RESERVED_BYTES];
  for (let list = from.list, { after } = from; list < NAMES.length;) {
    const name = NAMES[list] as keyof Lists;
    const rows = await READERS[name](context, after, READ_AT_ONCE);
    for (const { item, place } of rows) {
      bytes -= Buffer.byteLength(JSON.stringify(item));
      if (room-- === 0 || bytes < 0) return { lists, next: { list, after } };
      (lists[name] as object[]).push(item);
      after = place;
    }
    if (rows.length < READ_AT_ONCE) [list, after] = [list + 1, null];
  }
  return { lists, next: null };
}
