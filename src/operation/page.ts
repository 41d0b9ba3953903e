import { ArgsType, Field, Int } from "type-graphql";
import { Between, Form, Nullable } from "./bounds.js";
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

/** Cuts rows, of which one too many was read, into a page and the cursor of the next. */
export function pageOf<Row>(rows: readonly Row[], limit: number, placeOfRow: (row: Row) => string) {
  const items = rows.slice(0, limit);
  const last = items.at(-1);
  const nextCursor = rows.length > limit && last ? Buffer.from(placeOfRow(last)).toString("base64url") : null;
  return { items, nextCursor };
}
