import pg from "pg";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import "../../src/operations.js";
import { allStatements } from "../../src/platform/database/statement.js";
import { type World, createWorld } from "../support/world.js";

/** PostgreSQL's types by their OIDs. */
const TYPES = new Map<number, string>([
  ...Object.entries(pg.types.builtins).map(([name, oid]) => [oid, name.toLowerCase()] as const),
  [1000, "bool[]"],
  [1001, "bytea[]"],
  [1007, "int4[]"],
  [1009, "text[]"],
  [1022, "float8[]"],
  [2951, "uuid[]"],
]);
/** Types from this OID on are our enums, which node-postgres returns as text. */
const FIRST_OWN_TYPE = 16_384;

const nameOf = (oid: number): string => (oid >= FIRST_OWN_TYPE ? "text" : (TYPES.get(oid) ?? String(oid)));

it("knows the declared statements", () => {
  expect(allStatements().length).toBeGreaterThan(1);
  expect(new Set(allStatements().map(({ name }) => name)).size).toBe(allStatements().length);
});

describe("each statement", () => {
  let world: World;
  let client: pg.Client;
  beforeAll(async () => {
    world = await createWorld();
    // A client of its own: a pooled one accepts only node-postgres's queries.
    client = new pg.Client(world.databaseUrl);
    await client.connect();
  });
  afterAll(async () => {
    await client.end();
    await world[Symbol.asyncDispose]();
  });

  it.each(allStatements().map((statement) => [statement.name, statement] as const))(
    "%s has the parameter and column types that it declares",
    async (_name, statement) => {
      const { parameters, columns } = await new Promise<Described>((done, fail) => {
        client.query(new Describe(statement.text, done, fail));
      });

      const plain = (type: string | undefined) => type?.replace("?", "");
      expect(parameters).toEqual(statement.names.map((name) => plain(statement.values[name])));
      expect(columns).toEqual(
        Object.fromEntries(Object.entries(statement.row).map(([name, type]) => [name, plain(type)])),
      );
    },
  );
});

interface Described {
  readonly parameters: readonly string[];
  readonly columns: Readonly<Record<string, string>>;
}

/** Asks PostgreSQL for the parameter and column types of a statement, without running it. */
class Describe implements pg.Submittable {
  #parameters: readonly string[] = [];
  #columns: Readonly<Record<string, string>> = {};

  constructor(
    private readonly text: string,
    private readonly done: (described: Described) => void,
    readonly handleError: (error: Error) => void,
  ) {}

  submit(connection: unknown): void {
    const wire = connection as Wire;
    wire.once("parameterDescription", ({ dataTypeIDs }) => (this.#parameters = dataTypeIDs.map(nameOf)));
    wire.parse({ name: "", text: this.text, types: [] });
    wire.describe({ type: "S", name: "" });
    wire.sync();
  }

  handleRowDescription({ fields }: { readonly fields: ReadonlyArray<{ name: string; dataTypeID: number }> }): void {
    this.#columns = Object.fromEntries(fields.map(({ name, dataTypeID }) => [name, nameOf(dataTypeID)]));
  }

  handleReadyForQuery(): void {
    this.done({ parameters: this.#parameters, columns: this.#columns });
  }
}

/** The part of node-postgres's connection that speaks the wire protocol. */
interface Wire {
  once(event: "parameterDescription", listener: (message: { readonly dataTypeIDs: readonly number[] }) => void): void;
  parse(query: { name: string; text: string; types: readonly number[] }): void;
  describe(what: { type: "S"; name: string }): void;
  sync(): void;
}
