/* Values of `Cache-Control`. */

/** For all answers that do not say something else: each is for one caller. */
export const NOT_CACHED = "no-store";
/** For files whose names contain a hash of their content. */
export const CACHED_FOREVER = "public, max-age=31536000, immutable";
/**
 * For pages. A proxy may not change them: Cloudflare would hide the e-mail addresses in them, by default, and show them by a
 * script that their policy refuses.
 */
export const NOT_CHANGED = `${NOT_CACHED}, no-transform`;
