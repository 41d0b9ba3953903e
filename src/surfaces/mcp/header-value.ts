/** A text that HTTP neither refuses nor changes, and that does not look encoded. */
const PLAIN = /^(?! |.* $|=\?base64\?)[ -~]+$/;

/** Encodes a text for a header of the protocol: as `=?base64?…?=` if HTTP would refuse or change it. */
export const encodeHeader = (text: string): string =>
  PLAIN.test(text) ? text : `=?base64?${Buffer.from(text).toString("base64")}?=`;

/** Decodes such a header; undefined without the header. */
export function decodeHeader(header: string | string[] | undefined): unknown {
  const encoded = typeof header === "string" ? /^=\?base64\?([\w+/]*={0,2})\?=$/.exec(header)?.[1] : undefined;
  return encoded === undefined ? header : Buffer.from(encoded, "base64").toString();
}
