import { Prisma, type Relationship } from "../../platform/prisma/client.js";
import { type Whole, changedOf, saidOf } from "../../operation/said.js";
import type { SqlType } from "../../platform/statement.js";
import { bytesOf, columnOf } from "./memory-columns.js";

/** What is stored of a relationship beside what is said of it: where it is, what it joins, and who made it when. */
const AROUND = {
  graphId: true,
  id: true,
  fromId: true,
  toId: true,
  type: true,
  createdBy: true,
  createdAt: true,
} as const satisfies Partial<Record<keyof Relationship, true>>;

/** What is said of a relationship, and may be changed; the model `Relationship` is where it is declared. */
export type LinkContents = Omit<Relationship, keyof typeof AROUND>;
type LinkContentName = keyof LinkContents;

export const LINK_CONTENTS: readonly LinkContentName[] = Object.values(Prisma.RelationshipScalarFieldEnum).filter(
  (name): name is LinkContentName => !(name in AROUND),
);

/** What is said of it, by PostgreSQL's types: for statements. */
export const LINK_TYPES = {
  strength: "float8",
  confidence: "float8",
  context: "text?",
} as const satisfies Record<LinkContentName, SqlType>;

/** All columns but the graph's, by their fields. */
export const LINK_COLUMNS: ReadonlyMap<string, string> = new Map(
  Object.values(Prisma.RelationshipScalarFieldEnum)
    .filter((name) => name !== "graphId")
    .map((name) => [name, columnOf(name)]),
);

/** What somebody says of a new relationship; what is left out is null. */
export const linkContentsOf = <Input extends Partial<LinkContents>>(input: Input & Whole<LinkContents, Input>) =>
  saidOf<LinkContents>(LINK_CONTENTS, input);

/** What somebody changes of a relationship: what is left out stays. */
export const linkChangesOf = <Input extends Partial<LinkContents>>(input: Input & Whole<LinkContents, Input>) =>
  changedOf<LinkContents>(LINK_CONTENTS, input);

/** What a relationship takes; `relationship_bytes` of the database says the same. */
export const linkBytes = (link: Pick<Relationship, "type"> & LinkContents): number =>
  bytesOf([link.type, ...LINK_CONTENTS.map((name) => link[name])]);
