import { ArgsType, Field, Int } from "type-graphql";
import { Between, Encoded, Form, Nullable } from "./bounds.js";
import { UUID } from "./id.js";
import type { BaseClass } from "./operation.js";
import type { Context } from "./context.js";
import { nestedBytesIn, paceBy, unitsOf } from "./pieces.js";
import { LIMITS } from "../limits.js";

const PAGE_LIMIT_DEFAULT = 20;
const PAGE_LIMIT_MAX = LIMITS.answer.pageItems;
export const NOT_A_CURSOR = "must be the next cursor of a previous page";
/** The form of a version in a cursor: every one that a restored memory can reach, and none beyond 31 bits. */
export const VERSION_PLACE = String.raw`1?\d{1,9}`;

/**
 * Adds `limit` and `cursor` to the input of a list. A cursor encodes the list's name, so that no other list takes it
 * for its own, and a place in it of the given form, by default an id. With another filter, it continues at that place.
 */
export function Paged<Base extends BaseClass>(list: string, base: Base, place = UUID) {
  @ArgsType()
  abstract class PageInput extends base {
    @Field(() => Int, {
      defaultValue: PAGE_LIMIT_DEFAULT,
      description: `The maximum number of items on the page, from 1 to ${PAGE_LIMIT_MAX}.`,
    })
    @Between(1, PAGE_LIMIT_MAX)
    limit!: number;

    @Field(() => String, { nullable: true, description: "Where to continue: `nextCursor` of the previous page." })
    @Nullable()
    @Form(/^[\w-]{1,200}$/, NOT_A_CURSOR)
    @Encoded(`${list}/`, place, NOT_A_CURSOR)
    cursor?: string | null;

    get list(): string {
      return list;
    }
  }
  return PageInput;
}

export const NEXT_CURSOR = "Send it as `cursor` to get the next page; null on the last page.";

/** The place that a cursor encodes, which the bounds have found to be of this list; null for the first page. */
export function placeOf(cursor: string | null | undefined): string | null {
  if (cursor == null) return null;
  const text = Buffer.from(cursor, "base64url").toString();
  return text.slice(text.indexOf("/") + 1);
}

/** The condition for the rows of a page whose newest come first: ids are in the order of time. */
export function olderThan(cursor: string | null | undefined): { readonly id?: { readonly lt: string } } {
  const id = placeOf(cursor);
  return id === null ? {} : { id: { lt: id } };
}

/** Encodes a place in a list as a cursor. */
export const cursorOf = (list: string, place: string): string => Buffer.from(`${list}/${place}`).toString("base64url");

/** As many rows are read before their size is known: at most 5 MB of memories, and more than the default page. */
const FIRST_READ = 25;
/** Else small rows after large ones would be read one by one. */
const LEAST_READ = 5;
/** How large a further read may be, as `unitsOf` estimates: models convert its rows in one turn of the event loop. */
const READ_UNITS = 1_048_576;

/**
 * Reads rows for `pageOf`: one more than the limit, or fewer if their texts do not fit into a page. Else a page of the
 * largest memories would read 20 MB to show 4. `readNext` reads rows that follow the given one.
 */
export async function readForPage<Row extends object | undefined>(
  limit: number,
  readNext: (last: NoInfer<Row> | undefined, take: number) => Promise<readonly Row[]>,
): Promise<Row[]> {
  const rows: Row[] = [];
  let [bytes, units, take] = [0, 0, Math.min(limit + 1, FIRST_READ)];
  while (take > 0) {
    const next = await readNext(rows.at(-1), take);
    rows.push(...next);
    bytes += next.reduce((sum, row) => sum + textBytesOf(row) + nestedBytesIn(row), 0);
    if (next.length < take || rows.length > limit || bytes > PAGE_BYTES) break;
    units += next.reduce((sum, row) => sum + unitsOf(row, READ_UNITS), 0);
    const fitting = Math.min((PAGE_BYTES - bytes) / (bytes + 1), READ_UNITS / (units + 1)) * rows.length;
    take = Math.min(limit + 1 - rows.length, Math.max(Math.floor(fitting) + 1, LEAST_READ));
  }
  return rows;
}

/** The bytes of a row's texts; never more than those of its JSON. */
const textBytesOf = (row: object | undefined): number =>
  Object.values(row ?? {}).reduce<number>(
    (sum, value) => sum + (typeof value === "string" ? Buffer.byteLength(value) : 0),
    0,
  );

/** What `Paged` adds to an input. */
interface PageInput {
  readonly limit: number;
  readonly list: string;
}

/** Makes a page and the next cursor from rows, of which `limit + 1` were read. Fewer items if rows are large. */
export async function pageOf<Row extends object>(
  context: Pick<Context, "pause">,
  rows: readonly Row[],
  { limit, list }: PageInput,
  placeOfRow: (row: Row) => string,
) {
  const items = await withinPage(context, rows.slice(0, limit));
  const last = items.at(-1);
  const nextCursor = rows.length > items.length && last ? cursorOf(list, placeOfRow(last)) : null;
  return { items, nextCursor };
}

/** One UTF-16 unit becomes at most this many bytes of JSON: `\\u0001`. */
const BYTES_PER_UNIT = 6;
/** The rest is for the JSON around the items, the user in an export, and longer field names in REST. */
export const PAGE_BYTES = LIMITS.answer.restPageBytes - 65_536;

/** What an item counts for on a page: its JSON, and the memory of its objects and lists. */
export const pageBytesOf = (item: object): number => Buffer.byteLength(JSON.stringify(item)) + nestedBytesIn(item);

/** As many of the items as fit into a page, but at least the first. Other requests get their turn between large ones. */
export async function withinPage<Item extends object>(
  { pause }: Pick<Context, "pause">,
  items: readonly Item[],
): Promise<Item[]> {
  const share = PAGE_BYTES / items.length / BYTES_PER_UNIT;
  const pace = paceBy(pause);
  let bytes = 0;
  for (const [index, item] of items.entries()) {
    // Few pages come near the limit, so items are written as JSON only on those that might exceed it.
    const units = unitsOf(item, share);
    const itemBytes = units < share ? BYTES_PER_UNIT * units : pageBytesOf(item);
    bytes += itemBytes;
    if (bytes > PAGE_BYTES && index > 0) return items.slice(0, index);
    const turn = units < share ? undefined : pace(itemBytes);
    if (turn) await turn;
  }
  return [...items];
}
