/** What HTTP neither refuses nor changes, and what is not taken for encoded. */
const PLAIN = /^(?! |.* $|=\?base64\?)[ -~]+$/;

/** A text as a header of the protocol says it: as `=?base64?…?=` where HTTP would refuse or change it. */
export const encodeHeader = (text: string): string =>
  PLAIN.test(text) ? text : `=?base64?${Buffer.from(text).toString("base64")}?=`;

/** The text that such a header says; undefined without the header. */
export function decodeHeader(header: string | string[] | undefined): unknown {
  const encoded = typeof header === "string" ? /^=\?base64\?([\w+/]*={0,2})\?=$/.exec(header)?.[1] : undefined;
  return encoded === undefined ? header : Buffer.from(encoded, "base64").toString();
}
