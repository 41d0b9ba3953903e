/** The kinds of objects in examples, and a field that only objects of this kind have. */
const FIELD_OF_KIND = { memory: "title", team: "maxMembers", invitation: "role", key: "key" } as const;
export type Kind = keyof typeof FIELD_OF_KIND;

/** The ids in the latest answers, by kind, in the order of the answer. */
export type Ids = Readonly<Partial<Record<Kind, readonly string[]>>>;

/** Collects the ids in an answer; for kinds that are not in it, keeps the earlier ones. */
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
  return (Object.keys(FIELD_OF_KIND) as Kind[]).find((kind) => FIELD_OF_KIND[kind] in value);
}
