/**
 * The settings of a session that change results, whatever the server, the database or the role have set. Prisma's
 * adapter sends times without a zone and reads all times as UTC; rows that were locked must be read as they are then;
 * numbers must keep their last digits; NULL in a list must not become a text; an index must find all that match. Plans
 * are not compiled: PostgreSQL takes tables that were not analyzed for large, and spent up to 1 s on compiling a walk of
 * .06 s.
 */
export const SESSION_SETTINGS = {
  TimeZone: "UTC",
  DateStyle: "ISO, MDY",
  IntervalStyle: "postgres",
  bytea_output: "hex",
  extra_float_digits: "1",
  standard_conforming_strings: "on",
  array_nulls: "on",
  gin_fuzzy_search_limit: "0",
  default_transaction_isolation: "read committed",
  jit: "off",
} as const;

/** The same as the `options` of a connection, where a space needs a backslash. */
export const SESSION_OPTIONS = Object.entries(SESSION_SETTINGS)
  .map(([name, value]) => `-c ${name}=${value.replaceAll(" ", String.raw`\ `)}`)
  .join(" ");

/**
 * Lets a transaction take its time, whatever the role has set. PostgreSQL has this limit from 17 on; an earlier one
 * refuses a connection whose `options` name it.
 */
export const LONG_TRANSACTIONS =
  "SELECT set_config(name, '0', false) FROM pg_settings WHERE name = 'transaction_timeout'";

const BOUNDS = ["statement_timeout", "lock_timeout", "query_timeout", "idle_in_transaction_session_timeout"];

/**
 * An address with these options behind its own, and without time limits. node-postgres prefers the parameters of an
 * address to what it is given beside it, so `?options=…`, which some hosts ask for, would remove our settings.
 */
export function withOptions(url: string, options: string = SESSION_OPTIONS): string {
  const address = new URL(url);
  const own = address.searchParams.get("options");
  address.searchParams.set("options", own === null ? options : `${own} ${options}`);
  for (const name of BOUNDS) address.searchParams.delete(name);
  return address.href;
}
