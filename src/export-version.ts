/**
 * The version of the format jsonl that this service exports. A newer one may have records that this version would lose.
 */
export const EXPORT_VERSION = 1;
