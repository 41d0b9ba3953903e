import { isEmail } from "class-validator";
import { InvalidInput } from "../../operation/failure.js";

/** RFC 5321: 64 octets before the @, 63 a label of the domain, 254 in all. */
export const ADDRESS_MAX = 254;
const LOCAL_PART_MAX = 64;
const LABEL_MAX = 63;

/**
 * An address in its one form, lower case, or null when it is none. ASCII alone, so that look-alike letters, invisible
 * characters and line breaks cannot make one address pass for another; a domain in other letters is written in Punycode.
 */
export function normalEmail(text: string): string | null {
  // Checked before it is lower-cased: the Kelvin sign's lower case is a plain k.
  if (text.length > ADDRESS_MAX || !/^[\x21-\x7e]+$/.test(text)) return null;
  const [localPart = "", domain = ""] = text.split("@");
  if (localPart.length > LOCAL_PART_MAX || domain.split(".").some((label) => label.length > LABEL_MAX)) return null;
  return isEmail(text) ? text.toLowerCase() : null;
}

/** Google's mail drops dots in an address. */
const DOTLESS_DOMAINS: ReadonlySet<string> = new Set(["gmail.com", "googlemail.com"]);

/**
 * Whose inbox it is, for counting what somebody is sent: what stands behind a plus sign is a label that most servers
 * drop, so it must not make one person pass for many. Never to tell people apart: an address is its owner's alone.
 */
export function mailboxOf(email: string): string {
  const at = email.lastIndexOf("@");
  const domain = email.slice(at + 1);
  const [name = ""] = email.slice(0, at).split("+", 1);
  const local = name === "" ? email.slice(0, at) : name;
  return `${DOTLESS_DOMAINS.has(domain) ? local.replaceAll(".", "") : local}@${domain}`;
}

/**
 * The address in its normal form.
 * @throws InvalidInput when it is none.
 */
export function emailIn(address: string): string {
  const email = normalEmail(address);
  if (email === null) throw new InvalidInput([{ path: "email", message: "must be an e-mail address, in ASCII" }]);
  return email;
}
