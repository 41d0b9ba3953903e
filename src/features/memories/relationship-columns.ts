import { Prisma, type Relationship } from "../../platform/prisma/client.js";
import { type MissingFields, pickGiven, pickOrNull } from "../../operation/input-fields.js";
import { snakeCase } from "../../operation/names.js";
import type { SqlType } from "../../platform/database/statement.js";
import { bytesOf } from "./memory-columns.js";

/** The columns of a relationship that are not its contents: where it is, what it joins, and who made it when. */
const AROUND = {
  graphId: true,
  id: true,
  fromId: true,
  toId: true,
  type: true,
  createdBy: true,
  createdAt: true,
} as const satisfies Partial<Record<keyof Relationship, true>>;

/** What a relationship says: the fields that may be changed. The model `Relationship` declares them. */
export type LinkContents = Omit<Relationship, keyof typeof AROUND>;
type LinkContentName = keyof LinkContents;

export const LINK_CONTENTS: readonly LinkContentName[] = Object.values(Prisma.RelationshipScalarFieldEnum).filter(
  (name): name is LinkContentName => !(name in AROUND),
);

/** PostgreSQL's types of the contents, for statements. */
export const LINK_TYPES = {
  strength: "float8",
  confidence: "float8",
  context: "text?",
} as const satisfies Record<LinkContentName, SqlType>;

/** All columns except the graph's, by the names of their fields. */
export const LINK_COLUMNS: ReadonlyMap<string, string> = new Map(
  Object.values(Prisma.RelationshipScalarFieldEnum)
    .filter((name) => name !== "graphId")
    .map((name) => [name, snakeCase(name)]),
);

/** The contents of a new relationship. Fields that are left out are null. */
export const linkContentsOf = <Input extends Partial<LinkContents>>(
  input: Input & MissingFields<LinkContents, Input>,
) => pickOrNull<LinkContents>(LINK_CONTENTS, input);

/** The contents that a change sets. Fields that are left out stay as they are. */
export const linkChangesOf = <Input extends Partial<LinkContents>>(input: Input & MissingFields<LinkContents, Input>) =>
  pickGiven<LinkContents>(LINK_CONTENTS, input);

/** The bytes that a relationship counts for. `relationship_bytes` of the database computes the same. */
export const linkBytes = (link: Pick<Relationship, "type"> & LinkContents): number =>
  bytesOf([link.type, ...LINK_CONTENTS.map((name) => link[name])]);
