import { createHash } from "node:crypto";
import pg from "pg";
import { type Statement, inOrder } from "./statement.js";

/** Parts of node-postgres' queries and connections that its types leave out. */
interface Query extends Omit<pg.Query, "submit"> {
  readonly name: string;
  readonly values: unknown[];
  readonly _result: Description;
  _accumulateRows: boolean;
  prepare(connection: Connection): void;
  handleRowDescription(message: unknown): void;
}
interface Connection {
  bind(call: object): void;
  execute(call: object): void;
  sync(): void;
}
/** How the columns of a row are named and read. */
interface Description {
  fields: unknown;
  _parsers: unknown;
  _prebuiltEmptyResultObject: unknown;
}
const { prepareValue: valueMapper } = (pg as unknown as { utils: { prepareValue: unknown } }).utils;

/**
 * A prepared statement whose row description is requested only once per connection, since reading it takes longer than
 * reading a row. The description stays valid: PostgreSQL refuses a prepared statement whose rows have changed.
 */
class NamedQuery extends (pg.Query as unknown as new (text: string, values: unknown[]) => Query) {
  #connection: Connection | undefined;

  override prepare(connection: Connection): void {
    const known = descriptionsOn(connection).get(this.name);
    if (!known) {
      this.#connection = connection;
      return super.prepare(connection);
    }
    Object.assign(this._result, known);
    this._accumulateRows = true;
    connection.bind({ statement: this.name, values: this.values, valueMapper });
    connection.execute({});
    connection.sync();
  }

  override handleRowDescription(message: unknown): void {
    super.handleRowDescription(message);
    const { fields, _parsers, _prebuiltEmptyResultObject } = this._result;
    if (this.#connection)
      descriptionsOn(this.#connection).set(this.name, { fields, _parsers, _prebuiltEmptyResultObject });
  }
}

const descriptions = new WeakMap<Connection, Map<string, Description>>();

function descriptionsOn(connection: Connection): Map<string, Description> {
  const known = descriptions.get(connection) ?? new Map<string, Description>();
  descriptions.set(connection, known);
  return known;
}

/**
 * Whether statements are prepared under names. A pooler may stop keeping the names of its clients apart, as when its
 * settings change or another one takes its place. Then statements fail until all are sent without names.
 */
export interface Naming {
  isOn: boolean;
}

/**
 * A name that stands for this text alone, in all processes and versions: if a pooler mixes up their names, no process
 * runs the statement of another one.
 */
export const nameOf = (name: string, text: string): string =>
  `${name.slice(0, NAME_CHARACTERS)}_${createHash("sha256").update(text).digest("base64url").slice(0, 16)}`;

/** PostgreSQL's names have at most 63 characters. */
const NAME_CHARACTERS = 46;

const namesOf = new WeakMap<object, string>();

function ownName(statement: Statement<never, unknown>): string {
  const known = namesOf.get(statement) ?? nameOf(statement.name, statement.text);
  namesOf.set(statement, known);
  return known;
}

/** Makes a query object, which is faster: node-postgres copies a plain configuration property by property. */
export function queryOf(statement: Statement<never, unknown>, values: object, { isOn }: Naming): pg.QueryConfig {
  const { text } = statement;
  const query = isOn
    ? Object.assign(new NamedQuery(text, inOrder(statement, values)), { name: ownName(statement) })
    : new pg.Query(text, inOrder(statement, values));
  return query as unknown as pg.QueryConfig;
}

/** Runs a query on one connection. Needed since a client, unlike a pool, returns no promise for a query object. */
export const ask = (client: pg.PoolClient, query: pg.QueryConfig): Promise<pg.QueryResult> =>
  new Promise((resolve, reject) => {
    client.query(query, (error: Error | null, result) => (error ? reject(error) : resolve(result)));
  });
