/** SQL under a name: PostgreSQL parses and plans it once a connection. */
export interface Statement<Values extends object = readonly unknown[], Row = never> {
  readonly name: string;
  /** Values stand as $1, $2, …. */
  readonly text: string;
  /** The names of its values, in the order of their numbers; without names the values come in a list. */
  readonly names?: readonly string[];
  /** Runs on connections that nothing else uses: to find out who asks must not wait for what others ask. */
  readonly reserved?: boolean;
  /** Reads a page of a graph: it is planned as `Database.readPages` says. */
  readonly isPage?: boolean;
  /** Never there: tells the compiler what the values and a row are. */
  readonly types?: (values: Values) => Row;
}

/**
 * Begins the text of a statement that is the last of its transaction, and whose answer has no rows: it is not waited
 * for before COMMIT is sent, which saves a round trip. If it fails, so does COMMIT.
 */
export const BEFORE_COMMIT = "/* before COMMIT */";

/**
 * What it takes and answers with is declared; `test/contract/statement-types.test.ts` compares that with the database.
 */
export interface DeclaredStatement<Values extends object = never, Row = unknown> extends Statement<Values, Row> {
  readonly names: readonly string[];
  readonly values: Types;
  readonly row: Types;
}

/** A statement's values in their order. */
export const inOrder = ({ names = [] }: Statement<never, unknown>, values: object): unknown[] =>
  Array.isArray(values) ? values : names.map((name) => (values as Readonly<Record<string, unknown>>)[name]);

/** PostgreSQL's types, and how node-postgres takes and gives their values. */
interface Sql {
  bool: boolean;
  "bool[]": readonly boolean[];
  bytea: Uint8Array;
  "bytea[]": readonly Uint8Array[];
  float8: number;
  "float8[]": readonly number[];
  int4: number;
  "int4[]": readonly number[];
  /** As digits where it may be beyond 2^53. */
  int8: number | string;
  json: unknown;
  jsonb: unknown;
  text: string;
  "text[]": readonly string[];
  timestamptz: Date;
  uuid: string;
  "uuid[]": readonly string[];
}

/** A type; one that ends with `?` may be null. */
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

/** A type whose values the code knows more closely. */
type Known<Value> = SqlType & { readonly known?: () => Value };
/** A text that is one of a few, such as an enum's value. */
export const oneOf = <Value extends string>(): Known<Value> => "text";
export const listOf = <Value extends string | null>(): Known<Value[]> => "text[]";

/** A row of a statement. */
export type RowOf<Declared> = Declared extends DeclaredStatement<never, infer Row> ? Row : never;

interface Declaration<Values extends Types, Row extends Types> {
  readonly name: string;
  readonly values: Values;
  readonly row: Row;
  /** Each value stands as `:name`, and is cast to its type. */
  readonly text: string;
  readonly reserved?: true;
  readonly isPage?: true;
}

const PLACE = /(?<![\w:]):([a-z]\w*)/gi;

/** Declares a statement. Throws where the text has a value that is not declared, or lacks one that is. */
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

/** Every statement that has been declared so far. */
export const allStatements = (): readonly DeclaredStatement[] => all;
