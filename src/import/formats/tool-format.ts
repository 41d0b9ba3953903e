/**
 * How to recognise the records of another tool, and which fields to leave out. The other fields are read as in any
 * file. Names of fields are as `plainName` makes them: "contenthash" for `content_hash`.
 */
export interface ToolFormat {
  /** Whether a record with these fields is one of this tool's. */
  readonly recognises: (names: ReadonlySet<string>) => boolean;
  /** The field with the text, if other fields of the record could be taken for it. */
  readonly text?: string;
  /**
   * Fields that the tool computes from the others, such as hashes, or that only say how it works: they are counted in
   * the report, and not stored.
   */
  readonly derived: ReadonlySet<string>;
  /** The field with a client id, if it is another than the record's own id. */
  readonly clientId?: string;
  /** A derived field by which relationships name the memory. */
  readonly alsoNamed?: string;
  /** Whether derived fields also occur in nested objects, such as `metadata`. */
  readonly isNested?: boolean;
}
