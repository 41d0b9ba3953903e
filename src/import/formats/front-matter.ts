/** The fields at the beginning of a note, between two lines of `---`. */
export interface FrontMatter {
  readonly fields: ReadonlyMap<string, FrontValue>;
  /** Lines that are none of the forms that are read. */
  readonly unread: ReadonlyArray<{ readonly line: number; readonly text: string }>;
  /** The note without it. */
  readonly body: string;
}

export type FrontValue = string | readonly string[];

const FIELD = /^([^\s#:'"[{-][^:]{0,99}?)\s{0,10}:(?:\s+(.*))?$/;
/** An item between brackets. What it may scan in vain is bounded. */
const LIST_ITEM = /\s{0,10}(?:"(?:[^"\\]|\\.)*"|'[^']*'|\[\[[^\]]{0,1000}\]\])\s{0,10}|[^,]+/g;
const ITEM = /^\s*-\s+(.*)$/;
/** Beginnings of values of which YAML means more than a text: maps, texts over several lines, anchors. */
const OTHER_FORM = /^[{|>&*!%@`]/;

/** Reads `key: value`, `key: [a, b]` and lists of `- item`, the forms of YAML that tools write for notes. */
export function readFrontMatter(text: string): FrontMatter {
  const lines = text.split("\n");
  const end = lines.findIndex((line, index) => index > 0 && /^(?:---|\.\.\.)\s*$/.test(line));
  if (!/^---\s*$/.test(lines[0] ?? "") || end === -1) return { fields: new Map(), unread: [], body: text };
  const fields = new Map<string, FrontValue>();
  /** The field whose list the next items belong to. */
  let list: { readonly key: string; readonly items: string[] } | undefined;
  const readField = (line: string): boolean => {
    list = undefined;
    const [, key, said = ""] = FIELD.exec(line) ?? [];
    const value = valueOf(said);
    if (key === undefined || value === undefined || fields.has(key)) return false;
    fields.set(key, value);
    if (value === "") list = { key, items: [] };
    return true;
  };
  const readItem = (said: string): boolean => {
    const value = scalarOf(said.trim());
    if (!list || value === undefined) return false;
    list.items.push(value);
    fields.set(list.key, list.items);
    return true;
  };
  const unread: { line: number; text: string }[] = [];
  for (const [index, line] of lines.slice(1, end).entries()) {
    if (line.trim() === "" || line.trimStart().startsWith("#")) continue;
    const item = ITEM.exec(line)?.[1];
    if (!(item === undefined ? readField(line) : readItem(item))) unread.push({ line: index + 2, text: line });
  }
  return { fields, unread, body: lines.slice(end + 1).join("\n") };
}

/** Undefined for what is not read. */
function valueOf(said: string): FrontValue | undefined {
  const text = said.trim();
  if (text.startsWith("[") && !text.startsWith("[[")) {
    const inner = /^\[(.*)\]\s*(?:\s#.*)?$/.exec(text)?.[1];
    return inner === undefined ? undefined : itemsOf(inner);
  }
  return scalarOf(text);
}

/** The items between brackets; undefined where one of them is not read. */
function itemsOf(inner: string): string[] | undefined {
  const texts = inner.match(LIST_ITEM) ?? [];
  const items = texts.map((text) => text.trim()).filter((text) => text !== "");
  const read = items.map(scalarOf);
  return read.every((item) => item !== undefined) ? read : undefined;
}

function scalarOf(text: string): string | undefined {
  const [, double, single] = /^(?:("(?:[^"\\]|\\.)*")|'((?:[^']|'')*)')\s*(?:\s#.*)?$/.exec(text) ?? [];
  if (double !== undefined) return unquote(double);
  if (single !== undefined) return single.replaceAll("''", "'");
  if (OTHER_FORM.test(text) || /^["']/.test(text)) return undefined;
  return text.replace(/(?:^|\s)#.*$/, "").trim();
}

/** JSON knows most of the escapes of YAML's double quotes. */
function unquote(text: string): string | undefined {
  try {
    return String(JSON.parse(text));
  } catch {
    return undefined;
  }
}
