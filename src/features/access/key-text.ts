import { crc32 } from "node:zlib";
import { BASE62, randomText } from "../../operation/random-text.js";

const PREFIX = "mg_live_";
const RANDOM_LENGTH = 32;
const CHECKSUM_LENGTH = 6;

/**
 * A new key: `mg_live_`, 32 random base62 characters (190 bits), and 6 characters of CRC32, by which a scanner for
 * leaked secrets recognises real keys. The service itself never trusts the checksum.
 */
export function newApiKey(): string {
  const random = randomText(RANDOM_LENGTH);
  return PREFIX + random + checksum(random);
}

/** Whether the text could be a key that `newApiKey` made. */
export function isApiKey(text: string): boolean {
  const random = text.slice(PREFIX.length, -CHECKSUM_LENGTH);
  return /^[0-9A-Za-z]{32}$/.test(random) && text === PREFIX + random + checksum(random);
}

/** The start of a key, for lists: enough to recognise it, too little to use it. */
export const apiKeyPrefix = (key: string): string => key.slice(0, PREFIX.length + 4);

function checksum(text: string): string {
  let rest = crc32(text);
  let digits = "";
  for (let place = 0; place < CHECKSUM_LENGTH; place++) {
    digits = BASE62.charAt(rest % BASE62.length) + digits;
    rest = Math.floor(rest / BASE62.length);
  }
  return digits;
}
