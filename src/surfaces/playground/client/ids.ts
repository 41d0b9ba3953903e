/** What examples work on, and a field that only things of this kind have beside their id. */
const TELLTALES = { memory: "title", team: "maxMembers", invitation: "role", key: "key" } as const;
export type Kind = keyof typeof TELLTALES;

/** The ids of the things that were answered last, by kind, in the answer's order. */
export type Ids = Readonly<Partial<Record<Kind, readonly string[]>>>;

/** The ids in an answer, and of those kinds that it has none of the earlier ones. */
export function collectIds(answer: unknown, earlier: Ids = {}): Ids {
  const found: Partial<Record<Kind, string[]>> = {};
  JSON.stringify(answer, (_key, value: unknown) => {
    const kind = kindOf(value);
    if (kind) (found[kind] ??= []).push((value as { id: string }).id);
    return value;
  });
  return { ...earlier, ...found };
}

function kindOf(value: unknown): Kind | undefined {
  if (typeof value !== "object" || value === null || !("id" in value) || typeof value.id !== "string") return undefined;
  return (Object.keys(TELLTALES) as Kind[]).find((kind) => TELLTALES[kind] in value);
}
