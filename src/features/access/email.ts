import { isEmail } from "class-validator";
import { InvalidInput } from "../../operation/failure.js";

/** RFC 5321: 64 octets before the @, 63 for each label of the domain, 254 in total. */
export const ADDRESS_MAX = 254;
const LOCAL_PART_MAX = 64;
const LABEL_MAX = 63;

/**
 * Returns an address in lower case, or null if it is invalid. Only ASCII, so that similar letters, invisible characters
 * and line breaks cannot make one address look like another; write other domains in Punycode. Between quotes, the part
 * before the @ may be anything, such as another address or a link in our mails; browsers' forms refuse it, too.
 */
export function normalEmail(text: string): string | null {
  // Checked before it is lower-cased: the Kelvin sign's lower case is a plain k.
  if (text.length > ADDRESS_MAX || !/^[!#-~]+$/.test(text)) return null;
  const [localPart = "", domain = ""] = text.split("@");
  if (localPart.length > LOCAL_PART_MAX || domain.split(".").some((label) => label.length > LABEL_MAX)) return null;
  return isEmail(text) ? text.toLowerCase() : null;
}

/**
 * Returns the address in lower case.
 * @throws InvalidInput when it is invalid.
 */
export function emailIn(address: string): string {
  const email = normalEmail(address);
  if (email === null) throw InvalidInput.at("email", "must be an e-mail address, in ASCII");
  return email;
}

/** Addresses that every mail program reads as a whole: it may end one at other signs, and make a link of the rest. */
const PLAIN = /^(?!.*www\.)[a-z\d](?:[\w.+-]*[a-z\d])?@/;

/** Whether a mail program could make a link to a site of it: of `evil.com?x@example.com`, or of `x!@evil.com`. */
export const hasLink = (email: string): boolean => !PLAIN.test(email);

/** An address for the text of a mail, where brackets keep it from becoming a link: `//evil[.]com/x@example[.]com`. */
export const addressForText = (email: string): string => (hasLink(email) ? email.replaceAll(".", "[.]") : email);
