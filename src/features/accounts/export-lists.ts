import { NIL_ID, UUID } from "../../operation/id.js";
import type { Context } from "../../operation/context.js";
import { PAGE_BYTES, VERSION_PLACE, pageBytesOf } from "../../operation/page.js";
import { paceBy } from "../../operation/pieces.js";
import { type ApiKey, toApiKey } from "../access/index.js";
import { type AuditEntry, type Invitation, readInvitations } from "../teams/index.js";
import type { Memory, MemoryVersion } from "../memories/index.js";
import { type Relationship, toRelationship } from "../relationships/index.js";

/** The lists of an export, in their order. */
export interface Lists {
  keys: ApiKey[];
  invitationsReceived: Invitation[];
  invitationsSent: Invitation[];
  events: AuditEntry[];
  memories: Memory[];
  versions: Array<MemoryVersion & { memoryId: string }>;
  relationships: Relationship[];
  eventsByOthers: AuditEntry[];
}

/** A place in one list: after the row with this id, or after a version of the memory with this id. */
interface RowPlace {
  readonly id: string;
  readonly version: number;
}

interface Row<Item> {
  readonly item: Item;
  readonly place: RowPlace;
}

/** Reads rows after a place, in their order. */
type Read<Item> = (context: Context, after: RowPlace | null, take: number) => Promise<Row<Item>[]>;

const byId = <Item extends { readonly id: string }>(items: readonly Item[]): Row<Item>[] =>
  items.map((item) => ({ item, place: { id: item.id, version: 0 } }));

/** A condition for models: rows after an id. */
const afterId = (after: RowPlace | null) => (after === null ? {} : { id: { gt: after.id } });

/** Before the first id. */
const START: RowPlace = { id: NIL_ID, version: 0 };

const READERS: { readonly [Name in keyof Lists]: Read<Lists[Name][number]> } = {
  keys: async ({ caller, database }, after, take) => {
    const where = { userId: caller.userId, ...afterId(after) };
    return byId((await database.models.apiKey.findMany({ where, orderBy: { id: "asc" }, take })).map(toApiKey));
  },
  // If the address is not verified, invitations to it may be for somebody else.
  invitationsReceived: async (context, after, take) => {
    const { email, emailIsVerified } = context.caller;
    const where = { email, ...afterId(after) };
    return emailIsVerified ? byId(await readInvitations(context, { where, order: "asc", limit: take })) : [];
  },
  invitationsSent: async (context, after, take) => {
    const where = { invitedBy: context.caller.userId, ...afterId(after) };
    return byId(await readInvitations(context, { where, order: "asc", limit: take }));
  },
  events: async ({ caller, database }, after, take) => {
    const where = { actorId: caller.userId, ...afterId(after) };
    return byId(await database.models.auditEntry.findMany({ where, orderBy: { id: "asc" }, take }));
  },
  memories: async ({ caller, database }, after, take) => {
    const where = { graphId: caller.personalGraphId, ...afterId(after) };
    return byId(await database.readPages(({ memory }) => memory.findMany({ where, orderBy: { id: "asc" }, take })));
  },
  versions: async ({ caller, database }, after, take) => {
    const { id: memoryId, version } = after ?? START;
    const isAfter = [{ memoryId: { gt: memoryId } }, { memoryId, version: { gt: version } }];
    // `gte` gives PostgreSQL the start of an index range: it does not see that the `OR` is a range.
    const where = { graphId: caller.personalGraphId, memoryId: { gte: memoryId }, OR: isAfter };
    const orderBy = [{ memoryId: "asc" }, { version: "asc" }] as const;
    const rows = await database.readPages(({ memoryVersion }) =>
      memoryVersion.findMany({ where, orderBy: [...orderBy], take }),
    );
    return rows.map((item) => ({ item, place: { id: item.memoryId, version: item.version } }));
  },
  relationships: async ({ caller, database }, after, take) => {
    const where = { graphId: caller.personalGraphId, ...afterId(after) };
    const rows = await database.readPages(({ relationship }) =>
      relationship.findMany({ where, orderBy: { id: "asc" }, take }),
    );
    return byId(rows.map(toRelationship));
  },
  // Last: a cursor has the number of its list, and an earlier server may have made it.
  eventsByOthers: async ({ caller: { userId }, database }, after, take) => {
    const byOthers = { OR: [{ actorId: null }, { actorId: { not: userId } }] };
    const where = { subject: userId, ...byOthers, ...afterId(after) };
    const rows = await database.models.auditEntry.findMany({ where, orderBy: { id: "asc" }, take });
    // The keys of other people are not the caller's data.
    return byId(rows.map((row) => ({ ...row, keyId: null })));
  },
};

const NAMES = Object.keys(READERS) as ReadonlyArray<keyof Lists>;

/** Rows are read a few at a time, so that not many more bytes are read than fit into a page. */
const READ_AT_ONCE = 10;

/** A place in the export: the number of the list, and the place in it. */
export interface ExportPlace {
  readonly list: number;
  readonly after: RowPlace | null;
}

const ID_AND_VERSION = `${UUID.source.slice(1, -1)}/${VERSION_PLACE}`;
/** How a place is written in a cursor, such as `4/019bb153-8740-7c2d-8e3f-405162738495/0`. */
export const PLACE_FORM = new RegExp(`^\\d(?:/${ID_AND_VERSION})?$`, "i");

export const writePlace = ({ list, after }: ExportPlace): string =>
  after ? `${list}/${after.id}/${after.version}` : String(list);

export function readPlace(text: string | null): ExportPlace {
  const [list = "0", id, version] = text?.split("/") ?? [];
  return { list: Number(list), after: id === undefined ? null : { id, version: Number(version) } };
}

/** Reads up to `limit` rows from a place, and no more bytes than a page may have. `next` is null at the end. */
export async function pageOfLists(context: Context, from: ExportPlace, limit: number) {
  const lists: Lists = {
    keys: [],
    invitationsReceived: [],
    invitationsSent: [],
    events: [],
    memories: [],
    versions: [],
    relationships: [],
    eventsByOthers: [],
  };
  const pace = paceBy(context.pause);
  let [room, bytes] = [limit, PAGE_BYTES];
  for (let list = from.list, { after } = from; list < NAMES.length;) {
    const name = NAMES[list] as keyof Lists;
    const rows = await READERS[name](context, after, READ_AT_ONCE);
    for (const { item, place } of rows) {
      const itemBytes = pageBytesOf(item);
      bytes -= itemBytes;
      if (room-- === 0 || bytes < 0) return { lists, next: { list, after } };
      (lists[name] as object[]).push(item);
      after = place;
      const turn = pace(itemBytes);
      if (turn) await turn;
    }
    if (rows.length < READ_AT_ONCE) [list, after] = [list + 1, null];
  }
  return { lists, next: null };
}
