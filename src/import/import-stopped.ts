/** The import cannot go on; the message says why and what to do next. */
export class ImportStopped extends Error {}
