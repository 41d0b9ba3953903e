import { ArgsType, Field, Int } from "type-graphql";
import { Between, Form, Nullable } from "./bounds.js";
import { LIMITS } from "../limits.js";
import { InvalidInput } from "./failure.js";

const PAGE_LIMIT_DEFAULT = 20;
const PAGE_LIMIT_MAX = 100;
const NOT_A_CURSOR = "must be the next cursor of an earlier page";

/** Adds to a query's input how its list is read page by page. */
// TypeScript lets a class extend a parameter only if that is typed with `any[]`.
// oxlint-disable-next-line typescript/no-explicit-any
export function Paged<Base extends abstract new (...args: any[]) => object>(base: Base) {
  @ArgsType()
  abstract class PageInput extends base {
    @Field(() => Int, {
      defaultValue: PAGE_LIMIT_DEFAULT,
      description: `How many items to answer with at most, from 1 to ${PAGE_LIMIT_MAX}.`,
    })
    @Between(1, PAGE_LIMIT_MAX)
    limit!: number;

    @Field(() => String, { nullable: true, description: "Where to go on: `nextCursor` of the page before." })
    @Nullable()
    @Form(/^[\w-]{1,200}$/, NOT_A_CURSOR)
    cursor?: string | null;
  }
  return PageInput;
}

export const NEXT_CURSOR = "Give it as `cursor` to read on; null on the last page.";

/**
 * The place that a cursor stands for; null for the first page.
 * @throws InvalidInput when the cursor does not stand for a place of this form.
 */
export function placeOf(cursor: string | null | undefined, form: RegExp): string | null {
  if (cursor == null) return null;
  const place = Buffer.from(cursor, "base64url").toString();
  if (form.test(place)) return place;
  throw new InvalidInput([{ path: "cursor", message: NOT_A_CURSOR }]);
}

/** The cursor that stands for a place. */
export const cursorOf = (place: string): string => Buffer.from(place).toString("base64url");

/** Cuts rows, of which one too many was read, into a page and the cursor of the next: shorter where rows are large. */
export function pageOf<Row extends object>(rows: readonly Row[], limit: number, placeOfRow: (row: Row) => string) {
  const items = withinPage(rows.slice(0, limit));
  const last = items.at(-1);
  const nextCursor = rows.length > items.length && last ? cursorOf(placeOfRow(last)) : null;
  return { items, nextCursor };
}

/** One UTF-16 unit becomes at most so many bytes of JSON: `\\u0001`. */
const BYTES_PER_UNIT = 6;
/** What stands around the items, and the names that REST gives their fields. */
const PAGE_BYTES = LIMITS.answer.restPageBytes - 65_536;

/** As many of the items as a page has room for, the first at any rate. */
export function withinPage<Item extends object>(items: readonly Item[]): Item[] {
  let bytes = 0;
  const end = items.findIndex((item, index) => {
    // Hardly any page comes near the bound, so writing items to measure them is kept for those that might.
    const most = BYTES_PER_UNIT * unitsOf(item);
    bytes += most * items.length < PAGE_BYTES ? most : Buffer.byteLength(JSON.stringify(item));
    return bytes > PAGE_BYTES && index > 0;
  });
  return end < 0 ? [...items] : items.slice(0, end);
}

/** About how many UTF-16 units an item has as JSON, its names among them. */
function unitsOf(value: unknown): number {
  if (typeof value === "string") return value.length + 3;
  if (typeof value !== "object" || value === null) return 24;
  return Object.entries(value).reduce((sum, [name, inner]) => sum + name.length + 4 + unitsOf(inner), 2);
}
