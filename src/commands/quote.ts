/** A text as one word of a command that people paste into a shell. */
export const quote = (text: string): string => (/^[\w:/.-]+$/.test(text) ? text : `'${text.replaceAll("'", `'\\''`)}'`);
