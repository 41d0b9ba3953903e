/** HTML that may stand in a page as it is. */
export class Html {
  constructor(readonly text: string) {}
}

/**
 * A template for HTML: every value is escaped, unless it is HTML itself or a list of it; null and undefined are left
 * out. What comes from outside can so be forgotten nowhere.
 */
export function html(parts: TemplateStringsArray, ...values: readonly unknown[]): Html {
  return new Html(parts.map((part, index) => part + textOf(values[index])).join(""));
}

function textOf(value: unknown): string {
  if (value === null || value === undefined) return "";
  if (value instanceof Html) return value.text;
  if (Array.isArray(value)) return value.map(textOf).join("");
  return String(value).replaceAll(/[&<>"']/g, (character) => `&#${character.charCodeAt(0)};`);
}
