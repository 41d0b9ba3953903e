/** The import cannot go on; the message says why and what to do next. */
export class ImportStopped extends Error {}

export const KEY_REFUSED =
  "The service does not accept this API key. Set MEMORY_GRAPH_KEY to a valid one; " +
  "`npm run user -- key --email <address>` creates another one.";
