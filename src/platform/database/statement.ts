/** A prepared statement: PostgreSQL parses and plans it once per connection, by its name. */
export interface Statement<Values extends object = readonly unknown[], Row = never> {
  readonly name: string;
  /** SQL with the placeholders $1, $2, …. */
  readonly text: string;
  /** The names of its values, in the order of their numbers; without names the values come in a list. */
  readonly names?: readonly string[];
  /** Runs on reserved connections, so that looking up a key does not wait for the statements of others. */
  readonly reserved?: boolean;
  /** Reads a page of an export; planned as `Database.readPages` describes. */
  readonly isPage?: boolean;
  /** Never set. Tells the compiler the types of the values and of a row. */
  readonly types?: (values: Values) => Row;
}

/**
 * Marks, at the beginning of its text, a statement that is the last of its transaction and returns no rows. COMMIT is
 * sent without waiting for its answer, which saves a round trip. If the statement fails, so does COMMIT.
 */
export const BEFORE_COMMIT = "/* before COMMIT */";

/**
 * A statement with declared types; `test/contract/statement-types.test.ts` compares them with the database.
 */
export interface DeclaredStatement<Values extends object = never, Row = unknown> extends Statement<Values, Row> {
  readonly names: readonly string[];
  readonly values: Types;
  readonly row: Types;
}

/** A statement's values in their order. */
export const inOrder = ({ names = [] }: Statement<never, unknown>, values: object): unknown[] =>
  Array.isArray(values) ? values : names.map((name) => (values as Readonly<Record<string, unknown>>)[name]);

/** PostgreSQL's types, and the JavaScript types by which node-postgres takes and returns their values. */
interface Sql {
  bool: boolean;
  "bool[]": readonly boolean[];
  bytea: Uint8Array;
  "bytea[]": readonly Uint8Array[];
  float8: number;
  "float8[]": readonly number[];
  int4: number;
  "int4[]": readonly number[];
  /** A string of digits if it may be beyond 2^53. */
  int8: number | string;
  json: unknown;
  jsonb: unknown;
  text: string;
  "text[]": readonly string[];
  timestamptz: Date;
  uuid: string;
  "uuid[]": readonly string[];
}

/** A type; with `?` at its end the value may be null. */
export type SqlType = keyof Sql | `${keyof Sql}?`;
type Types = Readonly<Record<string, SqlType>>;

type ValueOf<Type> = Type extends { readonly known?: () => infer Value }
  ? Value
  : Type extends `${infer Plain extends keyof Sql}?`
    ? Sql[Plain] | null
    : Type extends keyof Sql
      ? Sql[Type]
      : never;

/** The values that a declaration stands for. */
export type ValuesOf<Declared extends Types> = { [Name in keyof Declared]: ValueOf<Declared[Name]> };

/** A type whose values the code narrows. */
type Known<Value> = SqlType & { readonly known?: () => Value };
/** A text that is one of a few, such as an enum's value. */
export const oneOf = <Value extends string>(): Known<Value> => "text";
export const listOf = <Value extends string | null>(): Known<Value[]> => "text[]";
/** JSON that the statement itself builds. */
export const jsonAs = <Value>(): Known<Value> => "json";

/** A row of a statement. */
export type RowOf<Declared> = Declared extends DeclaredStatement<never, infer Row> ? Row : never;

interface Declaration<Values extends Types, Row extends Types> {
  readonly name: string;
  readonly values: Values;
  readonly row: Row;
  /** SQL with placeholders such as `:name`. Each is cast to its declared type. */
  readonly text: string;
  readonly reserved?: true;
  readonly isPage?: true;
}

const PLACE = /(?<![\w:]):([a-z]\w*)/gi;

/** Declares a statement. @throws Error when a placeholder is not declared, or a declared value is not used. */
export function defineStatement<const Values extends Types, const Row extends Types>(
  declared: Declaration<Values, Row>,
): DeclaredStatement<ValuesOf<Values>, ValuesOf<Row>> {
  const { name, values } = declared;
  const names: string[] = [];
  const text = declared.text.replaceAll(PLACE, (_place, value: string) => {
    const type = values[value];
    if (type === undefined) throw new Error(`${name} has no value ${value}.`);
    if (!names.includes(value)) names.push(value);
    return `$${names.indexOf(value) + 1}::${type.replace("?", "")}`;
  });
  const unused = Object.keys(values).filter((value) => !names.includes(value));
  if (unused.length > 0) throw new Error(`${name} does not use ${unused.join(", ")}.`);
  const statement = { ...declared, text, names };
  all.push(statement);
  return statement;
}

const all: DeclaredStatement[] = [];

/**
 * Every statement that has been declared so far.
 * @internal Only tests use it.
 */
export const allStatements = (): readonly DeclaredStatement[] => all;
