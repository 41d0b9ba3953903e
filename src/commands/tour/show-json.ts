/** How many characters a line has. */
export const WIDTH = 96;
/** How many items of a list, and characters of a text, are shown of an answer. */
const ITEMS_SHOWN = 3;
const TEXT_SHOWN = 300;

/**
 * JSON for people: on one line if it fits, otherwise with as many members per line as fit. The first line begins with
 * the indent and a name of `nameLength` characters.
 */
export function showJson(value: unknown, indent = "", nameLength = 0): string {
  const line = onOneLine(value);
  const fits = indent.length + nameLength + line.length <= WIDTH;
  if (fits || typeof value !== "object" || value === null) return line;
  const inner = `${indent}  `;
  const names = Array.isArray(value) ? [] : Object.keys(value).map((name) => `${JSON.stringify(name)}: `);
  const members = Object.values(value).map((member, index) => {
    const name = names[index] ?? "";
    return name + showJson(member, inner, name.length);
  });
  const [open, close] = Array.isArray(value) ? "[]" : "{}";
  return `${open}\n${fillLines(members, inner)}\n${indent}${close}`;
}

/** Puts members on one line while they fit; a member that needs several lines gets its own. */
function fillLines(members: readonly string[], indent: string): string {
  const lines: string[] = [];
  for (const [index, member] of members.entries()) {
    const text = index < members.length - 1 ? `${member},` : member;
    const last = lines.at(-1);
    const joined = `${last} ${text}`;
    const fits = last !== undefined && !joined.includes("\n") && joined.length <= WIDTH;
    if (fits) lines.splice(-1, 1, joined);
    else lines.push(indent + text);
  }
  return lines.join("\n");
}

function onOneLine(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(onOneLine).join(", ")}]`;
  if (typeof value !== "object" || value === null) return JSON.stringify(value) ?? "null";
  const members = Object.entries(value).map(([name, member]) => `${JSON.stringify(name)}: ${onOneLine(member)}`);
  return `{${members.join(", ")}}`;
}

/** Shortens long texts and long lists in a value. */
export function shorten(value: unknown): unknown {
  if (typeof value === "string") return value.length > TEXT_SHOWN ? `${value.slice(0, TEXT_SHOWN)}…` : value;
  if (Array.isArray(value)) {
    const shown = value.slice(0, ITEMS_SHOWN).map(shorten);
    return value.length > ITEMS_SHOWN ? [...shown, `… ${value.length - ITEMS_SHOWN} more`] : shown;
  }
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([name, member]) => [name, shorten(member)]));
}
