/** Why the service is unavailable, and what the operator can do. */
export const UNAVAILABLE = {
  unreachable: "The database cannot be reached: check that it runs, and check DATABASE_URL, the network and DNS.",
  lost: "Connections to the database broke: check its log, and the proxies and the network in between.",
  refused: "The database refuses the service: check user, password, database and certificate.",
  stopping: "The database starts, stops or fails over: wait until it is back.",
  read_only: "The database accepts no changes: check whether it is a standby, or whether its disk is full.",
  exhausted: "The database or its pooler is out of connections or memory: give it more, or run fewer servers.",
  full: "The database's disk is full, so it accepts no changes: make room there, or use a larger disk.",
  broken: "The database cannot use its own disk or files: check its log.",
  slow: "Statements take too long: check locks and load in pg_stat_activity.",
  busy:
    "All connections are in use: check locks and load in pg_stat_activity, SHOW POOLS of a pooler, or run more " +
    "servers.",
  share:
    "An account or address waited too long for its own share, since it sends much at once: `waited_ms` in the log " +
    "shows by `account` and `slot` whose requests (`user_id`), and docs/operations.md#abuse what to do. If it concerns " +
    "many accounts, the database is slow.",
  collision: "Many changes of the same rows conflicted: usually nothing needs to be done.",
  unnamed:
    "The pooler no longer keeps the names of statements apart, so statements are sent without names until the next " +
    "start: check its max_prepared_statements and pool_mode, then restart the service.",
  outdated:
    "A newer version has migrated the database, and this version lacks what that removed: replace this server by the " +
    "newer version.",
  process: "This process is out of files, ports or memory: raise its limits (`ulimit -n`).",
  overloaded: "This process is overloaded: run more servers, or find in the log which clients send so many requests.",
} as const;

export type WhyUnavailable = keyof typeof UNAVAILABLE;

export const isWhyUnavailable = (why: unknown): why is WhyUnavailable =>
  typeof why === "string" && Object.hasOwn(UNAVAILABLE, why);

/** The service itself did not start a statement, or stopped waiting for it. */
export class DatabaseUnavailable extends Error {
  constructor(
    readonly why: WhyUnavailable,
    message: string,
    options?: ErrorOptions,
  ) {
    super(message, options);
  }
}

/**
 * Why the database failed, if neither the request nor the code caused it: then the same can be retried later. Undefined
 * for every other error. Also checks wrapped errors: node-postgres throws those of PostgreSQL and Node, Prisma's
 * adapter a `DriverAdapterError` with the cause as a plain object, Prisma's client that one in `meta`, and Node an
 * `AggregateError` for several attempts to connect.
 */
export function whyUnavailable(error: unknown): WhyUnavailable | undefined {
  let why: WhyUnavailable | undefined;
  for (const inner of layersOf(error)) {
    // The pool's timeout wraps an error of the connection that the pool itself broke, which is less precise.
    if (inner["message"] === CONNECT_TIMEOUT) return "unreachable";
    // Otherwise the wrapped error is the more precise one.
    why = whyOfLayer(inner) ?? why;
  }
  return why;
}

/** The SQLSTATE inside an error of node-postgres, of Prisma, or of Prisma's adapter; undefined where there is none. */
export function sqlStateOf(error: unknown): string | undefined {
  for (const inner of layersOf(error)) {
    const state = sqlStateOfLayer(inner);
    if (state) return state;
  }
  return undefined;
}

/** Whether a row does not exist that a model's method (`…OrThrow`) requires. */
export const isRowMissing = (error: unknown): boolean => isObject(error) && error["code"] === "P2025";

export const FOREIGN_KEY_VIOLATION = "23503";
export const UNIQUE_VIOLATION = "23505";
export const CHECK_VIOLATION = "23514";
/** The role lacks a privilege. */
export const NOT_ALLOWED = "42501";
/** A change on a standby, or where all transactions are read only. */
export const READ_ONLY = "25006";
/** A statement took too long. */
export const QUERY_CANCELED = "57014";
/** A statement waited too long for a lock. */
export const LOCK_NOT_AVAILABLE = "55P03";
/** A serialisation failure and a deadlock: nothing was changed, and the work can be retried at once. */
export const COLLISIONS: readonly string[] = ["40001", "40P01"];
/**
 * A function, column, table or type does not exist, a column must not be empty, or a statement that was prepared before
 * would have other columns now: what a server sees when a newer version has migrated the database.
 */
export const OTHER_SCHEMA: readonly string[] = ["42883", "42703", "42P01", "42704", "23502", "0A000"];
/** The name of a prepared statement is unknown, or taken: nothing was run. */
export const NAME_LOST: readonly string[] = ["26000", "42P05"];

const CONNECT_TIMEOUT = "Connection terminated due to connection timeout";

type Layer = Readonly<Record<string, unknown>>;

const LAYERS_MAX = 20;

/** An error and all errors inside it, outermost first. */
function layersOf(error: unknown): Layer[] {
  const layers = isObject(error) ? [error] : [];
  // The list grows during the loop.
  for (const layer of layers) {
    const { cause, meta, errors } = layer;
    const wrapped = [cause, isObject(meta) ? meta["driverAdapterError"] : undefined];
    for (const inner of [...wrapped, ...(Array.isArray(errors) ? (errors as unknown[]) : [])]) {
      if (isObject(inner) && !layers.includes(inner) && layers.length < LAYERS_MAX) layers.push(inner);
    }
  }
  return layers;
}

const isObject = (value: unknown): value is Layer => typeof value === "object" && value !== null;

/** At least one of the last three characters is a digit, unlike in errors of Node such as EPIPE and E2BIG. */
const SQL_STATE = /^[0-9A-Z]{2}(?=.*\d)[0-9A-Z]{3}$/;
/** Prisma's own codes look like SQLSTATEs, but are never in the class P0. */
const PRISMA_CODE = /^P[1-9]\d{3}$/;

function sqlStateOfLayer({ originalCode, code }: Layer): string | undefined {
  return [originalCode, code].find(
    (text): text is string => typeof text === "string" && SQL_STATE.test(text) && !PRISMA_CODE.test(text),
  );
}

function whyOfLayer(layer: Layer): WhyUnavailable | undefined {
  if (layer instanceof DatabaseUnavailable) return layer.why;
  const { code, errorCode, kind, syscall, severity, message } = layer;
  const state = sqlStateOfLayer(layer);
  if (state) {
    const said = String(layer["originalMessage"] ?? message);
    const why =
      BY_POOLER.find(([pattern]) => pattern.test(said))?.[1] ?? BY_STATE.find(([pattern]) => pattern.test(state))?.[1];
    // An error of this severity ends or refuses the connection, with any state. All errors of poolers have it.
    return why ?? (severity === "FATAL" || severity === "PANIC" || isEssential(message) ? "lost" : undefined);
  }
  for (const word of [code, errorCode, kind]) {
    const why = typeof word === "string" ? whyOfWord(word, syscall) : undefined;
    if (why) return why;
  }
  return typeof message === "string" ? BY_MESSAGE.find(([pattern]) => pattern.test(message))?.[1] : undefined;
}

/** Citus reports a lost worker under the state of an internal error. */
const isEssential = (message: unknown): boolean =>
  typeof message === "string" && message.startsWith("failure on connection marked as essential");

/**
 * What poolers say at their limits, each with one state for many reasons: PgBouncer, Supavisor before and since it has
 * codes of its own, PgCat and PgDog.
 */
const BY_POOLER: ReadonlyArray<readonly [RegExp, WhyUnavailable]> = [
  [/^(no more connections allowed|client connections exceeded) \(max_\w+\)$/, "exhausted"],
  [/^\((EMAXCLIENTCONN|EMAXCLIENTSESSION)\) |^Max client connections reached/, "exhausted"],
  [/^query_wait_timeout$|^\(ECHECKOUTTIMEOUT\) |^could not get connection from the pool|^checkout timeout/, "busy"],
];

/** From PostgreSQL's documentation, appendix A: the errors that the statement itself did not cause. */
const BY_STATE: ReadonlyArray<readonly [RegExp, WhyUnavailable]> = [
  // Connection exceptions. Poolers report their own refusals as 08P01, a protocol violation.
  [/^08/, "lost"],
  [/^25006$/, "read_only"],
  // A transaction that was idle or open for too long, and a snapshot too old; a statement that took or waited too long.
  [/^(25P03|25P04|72000|57014|55006|55P03)$/, "slow"],
  [/^(28|3D)/, "refused"],
  // Not 40002: a constraint that is checked at the end of a transaction.
  [/^40(000|001|003|P01)$/, "collision"],
  [/^(26000|42P05)$/, "unnamed"],
  [/^53100$/, "full"],
  [/^53/, "exhausted"],
  // A database that takes no connections; and an operator's intervention.
  [/^(55000|57)/, "stopping"],
  [/^58/, "broken"],
];

function whyOfWord(word: string, syscall: unknown): WhyUnavailable | undefined {
  for (const [why, words] of Object.entries(BY_WORD)) if (words.has(word)) return why as WhyUnavailable;
  // OpenSSL's own errors are of files of certificates and keys, as while a renewed pair is only half written.
  if (/^ERR_(TLS|SSL|OSSL)_/.test(word)) return "refused";
  // Connecting and name resolution have more errors than are listed: EPERM from a firewall, ENOENT for a socket.
  return /^(E|UNKNOWN$)/.test(word) && (syscall === "connect" || syscall === "getaddrinfo") ? "unreachable" : undefined;
}

const wordsOf = (text: string): ReadonlySet<string> => new Set(text.split(/\s+/).filter(Boolean));

/** Codes of Node's system errors, TLS and sockets; codes of Prisma's client; kinds of Prisma's adapter. */
const BY_WORD: Readonly<Partial<Record<WhyUnavailable, ReadonlySet<string>>>> = {
  process: wordsOf("EMFILE ENFILE ENOBUFS ENOMEM EADDRNOTAVAIL EAGAIN EAI_MEMORY"),
  unreachable: wordsOf(`
    ECONNREFUSED EHOSTDOWN EHOSTUNREACH ENETDOWN ENETUNREACH ENONET ENOTFOUND EAI_ADDRFAMILY EAI_AGAIN EAI_CANCELED
    EAI_FAIL EAI_NODATA EAI_NONAME EAI_SERVICE ERR_SOCKET_CONNECTION_TIMEOUT P1001 P1002 DatabaseNotReachable`),
  lost: wordsOf(`
    EBADF ECANCELED ECONNABORTED ECONNRESET EIO ENETRESET ENOTCONN EOF EPIPE EPROTO EREMOTEIO ESHUTDOWN ETIME ETIMEDOUT
    ERR_SOCKET_CLOSED ERR_SOCKET_CLOSED_BEFORE_CONNECTION ERR_STREAM_DESTROYED ERR_STREAM_PREMATURE_CLOSE
    ERR_STREAM_WRITE_AFTER_END P1008 P1017 ConnectionClosed SocketTimeout`),
  refused: wordsOf(`
    P1000 P1003 P1010 P1011 AuthenticationFailed DatabaseAccessDenied DatabaseDoesNotExist TlsConnectionError
    UNABLE_TO_GET_ISSUER_CERT UNABLE_TO_GET_CRL UNABLE_TO_DECRYPT_CERT_SIGNATURE UNABLE_TO_DECRYPT_CRL_SIGNATURE
    UNABLE_TO_DECODE_ISSUER_PUBLIC_KEY CERT_SIGNATURE_FAILURE CRL_SIGNATURE_FAILURE CERT_NOT_YET_VALID CERT_HAS_EXPIRED
    CRL_NOT_YET_VALID CRL_HAS_EXPIRED ERROR_IN_CERT_NOT_BEFORE_FIELD ERROR_IN_CERT_NOT_AFTER_FIELD
    ERROR_IN_CRL_LAST_UPDATE_FIELD ERROR_IN_CRL_NEXT_UPDATE_FIELD OUT_OF_MEM DEPTH_ZERO_SELF_SIGNED_CERT
    SELF_SIGNED_CERT_IN_CHAIN UNABLE_TO_GET_ISSUER_CERT_LOCALLY UNABLE_TO_VERIFY_LEAF_SIGNATURE CERT_CHAIN_TOO_LONG
    CERT_REVOKED INVALID_CA PATH_LENGTH_EXCEEDED INVALID_PURPOSE CERT_UNTRUSTED CERT_REJECTED HOSTNAME_MISMATCH`),
  exhausted: wordsOf("P2037 TooManyConnections"),
  busy: wordsOf("P2024"),
  slow: wordsOf("P1018 P2028 TransactionAlreadyClosed"),
  collision: wordsOf("P2034 TransactionWriteConflict"),
};

/** Node-postgres and its pool throw plain errors, which only their messages identify. */
const BY_MESSAGE: ReadonlyArray<readonly [RegExp, WhyUnavailable]> = [
  [/^timeout exceeded when trying to connect$/, "busy"],
  [/^timeout expired$/, "unreachable"],
  [/^Query read timeout$/, "slow"],
  [/^Connection terminated( unexpectedly)?$/, "lost"],
  [/^Client (has encountered a connection error|was closed) and is not queryable$/, "lost"],
  [/^(Received unexpected \w+ message from backend|received invalid response: )/, "lost"],
  [/^Cannot use a pool after calling end on the pool$/, "stopping"],
  [/^SASL: |^The server does not support SSL|^There was an error establishing an SSL/, "refused"],
];
