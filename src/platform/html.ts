/** HTML that needs no escaping. */
export class Html {
  constructor(readonly text: string) {}
}

/**
 * A template for HTML. Every value is escaped, except `Html` and lists of it; null, undefined and false are left
 * out. So no value from outside can be left unescaped by mistake.
 */
export function html(parts: TemplateStringsArray, ...values: readonly unknown[]): Html {
  return new Html(parts.map((part, index) => part + textOf(values[index])).join(""));
}

/** Escapes a text, and shows names in backticks as code. */
export const prose = (text: string): Html =>
  html`${text.split("`").map((part, index) => (index % 2 === 1 ? html`<code>${part}</code>` : part))}`;

/** Isolates a user's text within a sentence, so that right-to-left text does not move the words around it. */
export const isolate = (text: string): Html => html`<bdi>${text}</bdi>`;

function textOf(value: unknown): string {
  if (value === null || value === undefined || value === false) return "";
  if (value instanceof Html) return value.text;
  if (Array.isArray(value)) return value.map(textOf).join("");
  return String(value).replaceAll(/[&<>"']/g, (character) => `&#${character.charCodeAt(0)};`);
}
