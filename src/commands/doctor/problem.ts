/** Something is wrong. The message says what, and what to do. */
export class Problem extends Error {}
