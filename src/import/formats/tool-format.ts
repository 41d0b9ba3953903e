/** What is special in the records of another tool. Their other fields are read like those of any file. */
export interface ToolFormat {
  /** Whether a record with these fields is one of this tool's. Names are normalised by `plainName`. */
  readonly recognises: (names: ReadonlySet<string>) => boolean;
  /** Fields that the tool computes from the others, such as hashes: they are counted in the report, and not stored. */
  readonly derived: ReadonlySet<string>;
  /** Whether these are in nested objects, such as `metadata`, too. */
  readonly isNested?: boolean;
}
