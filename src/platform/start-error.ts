import pg from "pg";
import { adviceForCertificate } from "./certificate-advice.js";
import { LOCK_NOT_AVAILABLE, UNAVAILABLE, sqlStateOf, whyUnavailable } from "./database/database-errors.js";

/** The service cannot start. The message says in one sentence what to do, so no stack trace is printed. */
export class StartError extends Error {}

export const THROUGH_POOLER =
  "The address of the database leads through a pooler, which does not keep the settings of connections: set " +
  "DIRECT_DATABASE_URL to the address of PostgreSQL itself, and DATABASE_URL to that of the pooler.";

/** What may hold the address of a database: variables, or an argument. Error messages name the one concerned. */
export type AddressVariable =
  | "DATABASE_URL"
  | "DIRECT_DATABASE_URL"
  | "DATABASE_REPLICA_URL"
  | "TARGET_DATABASE_URL"
  | "the target";

/**
 * Turns an error into a StartError that says why the database cannot be used; returns other errors unchanged.
 * @param isConnected whether PostgreSQL has answered on this connection: then its address is right
 */
export function explainDatabase(
  error: unknown,
  url: string,
  variable: AddressVariable = "DATABASE_URL",
  { isConnected = false } = {},
): unknown {
  if (error instanceof StartError) return error;
  const sentence = sentenceFor(error, { ...placeOf(url), variable, isConnected });
  return sentence === undefined ? error : new StartError(sentence, { cause: error });
}

/**
 * Explains an error of a file, or of the database after the start. Undefined for a bug, whose full error should be
 * printed instead.
 */
export function explainSystem(error: unknown): string | undefined {
  const { path } = (error ?? {}) as { path?: unknown };
  const code = codeOf(error);
  if (typeof path === "string" && path !== "" && /^E[A-Z\d]+$/.test(code)) {
    const what = FILE_SENTENCES[code] ?? "check what is there and who owns it";
    return `The file ${path} cannot be used (${code}): ${what}, then try again.`;
  }
  // Reading and writing an open file names no path.
  if (code === "EISDIR") return "A folder cannot be read as a file: name the file.";
  if (/^(ENOSPC|EDQUOT)$/.test(code)) return `A file cannot be written (${code}): ${FILE_SENTENCES[code]}.`;
  if (sqlStateOf(error) === LOCK_NOT_AVAILABLE) return LOCKED;
  if (error instanceof RangeError && error.message.startsWith("WebAssembly")) {
    return `This process may not use enough memory (${error.message}): start it with \`ulimit -v unlimited\`.`;
  }
  const why = whyUnavailable(error);
  // PostgreSQL may have committed, and only its answer been lost. Others, such as `npm run user -- show`, change nothing.
  const left = why === "lost" ? " If it was making a change, look whether that was made before you repeat it." : "";
  return why && `This process stops: ${conclusionOf(error).replace(/\.$/, "")}. ${UNAVAILABLE[why]}${left}`;
}

const LOCKED =
  "Other work has locked what this needs in the database for too long, such as a change on a busy server, or " +
  "`npm run restore`. Try again; if it happens again, see in pg_stat_activity what it is.";

const FILE_SENTENCES: Readonly<Record<string, string>> = {
  ENOENT: "check that it and its folder are there, or name another",
  ENOTDIR: "a part of its path is a file; name another folder",
  EISDIR: "a folder has its name; remove the folder",
  EACCES: "start as the user who owns it",
  EPERM: "start as the user who owns it",
  EROFS: "its disk is read-only; name a folder that can be written",
  ENOSPC: "its disk is full; free some space",
  EDQUOT: "its disk is full; free some space",
  EMFILE: "too many files are open; raise the limit (`ulimit -n 1024`)",
  ENFILE: "too many files are open on this machine; close some",
};

/** The parts of an address, without the password, and the variable that holds it. */
export interface Place {
  readonly variable: AddressVariable;
  readonly host: string;
  readonly user: string;
  readonly database: string;
  readonly isConnected: boolean;
}

/** Also of an address that names the folder of a socket. */
export function placeOf(url: string): Omit<Place, "variable" | "isConnected"> {
  const { host, username, pathname, searchParams } = new URL(url);
  const user = decode(username) || (searchParams.get("user") ?? "postgres");
  return {
    host: decode(host) || searchParams.get("host") || "localhost",
    user,
    database: decode(pathname.slice(1)) || user,
  };
}

/** Text that cannot be decoded is returned unchanged. */
function decode(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

function sentenceFor(error: unknown, place: Place): string | undefined {
  const state = sqlStateOf(error);
  const said = messageOf(error);
  if (error instanceof URIError) {
    return `${place.variable} cannot be decoded: write a percent sign as %25, also in a password.`;
  }
  if (/unsupported startup parameter|RDS Proxy .* support (?:the option|command-line)/.test(said))
    return THROUGH_POOLER;
  if (/configuration parameter|value for parameter/.test(said)) {
    return `PostgreSQL at ${place.host} refuses the options in ${place.variable}: ${said}. Correct the options.`;
  }
  if ((error as { syscall?: unknown }).syscall === "open") return explainSystem(error);
  if (codeOf(error) === PRISMA_NOT_EMPTY) return occupied(place, "its schema public is not empty");
  // Prisma's code also stands for a database that does not answer.
  if (codeOf(error) === "P1002" && /advisory lock/.test(String(error))) return migratedByOthers(place, said);
  const isClosed = (error as { routine?: unknown }).routine === "CheckMyDatabase";
  const byState = state === undefined ? undefined : { ...SENTENCES, ...(isClosed && CLOSED) }[state]?.(place, said);
  if (byState !== undefined) return byState;
  const why = whyUnavailable(error);
  return (
    bySocket(error, place) ?? (why && `PostgreSQL at ${place.host} cannot be used now: ${said}. ${UNAVAILABLE[why]}`)
  );
}

const occupied: Sentence = ({ host, database, variable }, said) =>
  `The database ${database} at ${host} has what the service did not finish creating (${said}): another program uses it, ` +
  `or a migration failed earlier and was applied in part. Create a database for the service alone, and name it in ` +
  `${variable}, or restore a backup.`;

const migratedByOthers: Sentence = ({ host, database }) =>
  `Another program migrates the database ${database} at ${host}: start again when it has finished; if there is none, ` +
  "end each connection that holds an advisory lock (see pg_locks).";

/** Prisma's code for tables in a database without migrations. */
export const PRISMA_NOT_EMPTY = "P3005";

type Sentence = (place: Place, said: string) => string | undefined;

/** PostgreSQL's messages may be in any language; these names are the same in each. */
const NEEDED = /\b(?:public|pg_trgm|btree_gin)\b/;

const cannotCreate: Sentence = ({ host, user, database, variable }, said) =>
  NEEDED.test(said)
    ? `PostgreSQL at ${host} does not let ${user} create what the service needs: ${said}. ` +
      `Let ${user} own the database ${database}, or have an administrator run in it: ` +
      "CREATE EXTENSION IF NOT EXISTS pg_trgm; CREATE EXTENSION IF NOT EXISTS btree_gin; " +
      `GRANT CREATE ON SCHEMA public TO ${pg.escapeIdentifier(user)}; Then start again.`
    : `PostgreSQL at ${host} does not let ${user} use what another role created: ${said}. Name that role in ${variable}.`;

const lacksExtension: Sentence = ({ host }, said) =>
  `PostgreSQL at ${host} lacks an extension: ${said}. Install PostgreSQL's contrib package there.`;

/** By SQLSTATE. */
const SENTENCES: Readonly<Record<string, Sentence>> = {
  "28P01": ({ host, user, variable }) =>
    `PostgreSQL at ${host} refuses the password of ${user}: correct user and password in ${variable}.`,
  "28000": ({ host, user, variable }, said) =>
    `PostgreSQL at ${host} does not let ${user} in: ${said}. Correct ${variable}, or pg_hba.conf there.` +
    adviceForPlainText(variable, said),
  "3D000": ({ host, database, variable }) =>
    `PostgreSQL at ${host} has no database ${database}: create it with CREATE DATABASE, or correct ${variable}.`,
  "0A000": (place, said) => (NEEDED.test(said) ? lacksExtension(place, said) : undefined),
  "58P01": lacksExtension,
  "42501": cannotCreate,
  "25006": ({ host, variable }) =>
    `The database at ${host} accepts no changes. If it is a standby, set ${variable} to the primary. Otherwise it ` +
    "was set to read-only (default_transaction_read_only), as some hosts do when its disk is nearly full: make room, " +
    "and end that.",
  "53300": ({ host }, said) =>
    `PostgreSQL at ${host} has no connection left: raise its max_connections, or the CONNECTION LIMIT of role and ` +
    `database, or run fewer servers (${said}).`,
  "57P03": ({ host }, said) =>
    `PostgreSQL at ${host} does not accept connections yet: ${said}. Start again when it does.`,
  ...Object.fromEntries(["42P07", "42710", "42701", "42723"].map((state) => [state, occupied])),
  "55P03": ({ host }) =>
    `Another connection to ${host} has locked a table for too long, so nothing was changed. ` +
    "End that connection (see pg_stat_activity), and start again.",
};

/** The same, where PostgreSQL's function that opens the database refuses: its name is the same in each language. */
const CLOSED: typeof SENTENCES = {
  "42501": ({ host, user, database }) =>
    `PostgreSQL at ${host} does not let ${user} open the database ${database}: have an administrator run: GRANT ` +
    `CONNECT ON DATABASE ${pg.escapeIdentifier(database)} TO ${pg.escapeIdentifier(user)}; Then start again.`,
  "55000": ({ host, database }) =>
    `PostgreSQL at ${host} lets nobody open the database ${database}: run ALTER DATABASE ` +
    `${pg.escapeIdentifier(database)} ALLOW_CONNECTIONS true in another database there.`,
};

/** What else may be wrong where PostgreSQL, or a pooler, was asked without TLS, which sockets do not have. */
const adviceForPlainText = (variable: AddressVariable, said: string): string =>
  /no encryption|SSL (?:connection is )?required/.test(said) && !said.includes('host "[local]"')
    ? ` If it lets in only by TLS, as most hosts do, add sslmode=require to ${variable} (\`?sslmode=require\` at its ` +
      "end)."
    : "";

function bySocket(error: unknown, { host, variable, isConnected }: Place): string | undefined {
  const code = codeOf(error);
  const said = messageOf(error);
  if (/^The server does not support SSL/.test(said)) {
    return `PostgreSQL at ${host} offers no TLS: remove sslmode from ${variable}, and PGSSLMODE, or turn TLS on there.`;
  }
  if (/^SASL: /.test(said)) {
    return `Password authentication with PostgreSQL at ${host} failed: check that ${variable} contains the right password.`;
  }
  if (code === "ENOTFOUND" || code.startsWith("EAI_")) {
    return `The host name ${host} in ${variable} is unknown (${code}): correct it, or check DNS.`;
  }
  if (code.startsWith("ERR_OSSL_")) {
    return (
      `The files of certificates in ${variable} cannot be used (${code}): sslcert and sslkey name a certificate and its ` +
      "key, in PEM and without a password, and sslrootcert certificates of authorities."
    );
  }
  // PostgreSQL sends an alert about the service's certificate; what the service refuses itself is below.
  if (/_ALERT_.*CERTIFICATE|_ALERT_UNKNOWN_CA/.test(code)) {
    return (
      `PostgreSQL at ${host} refuses the service's certificate (${code}): renew it, or name one that PostgreSQL trusts ` +
      `(ssl_ca_file there), and its key, by sslcert and sslkey in ${variable}.`
    );
  }
  if (/CERT|ISSUER|SIGNATURE|^ERR_(TLS|SSL)_/.test(code)) {
    const trust =
      `Name its authority's file by sslrootcert=… in ${variable}, or encrypt without checking whose it is by ` +
      "sslmode=no-verify.";
    const advice = adviceForCertificate(code, variable, trust) ?? trust;
    return `The certificate of PostgreSQL at ${host} is not trusted (${code}). ${advice}`;
  }
  if (whyUnavailable(error) === "unreachable") {
    const how = code || "it does not answer; if it sleeps when unused, try again; if it is a pooler, its log says why";
    return `No PostgreSQL can be reached at ${host} (${how}): start it, or correct ${variable}.`;
  }
  if (whyUnavailable(error) === "lost" && sqlStateOf(error) !== undefined) {
    return (
      `The server at ${host} refuses: ${said}. Correct ${variable}, or the settings of the pooler there.` +
      adviceForPlainText(variable, said)
    );
  }
  // A connection that was used before is just lost.
  if (whyUnavailable(error) === "lost" && !isConnected && !said.endsWith("is not queryable")) {
    return `The server at ${host} does not answer like PostgreSQL: correct ${variable}, or check the proxies in between.`;
  }
  return undefined;
}

const messageOf = (error: unknown): string =>
  (error instanceof Error ? error.message : String(error)).split("\n")[0] ?? "";

/** The last line of a message: Prisma's messages show the query over many lines before the error. */
const conclusionOf = (error: unknown): string =>
  (error instanceof Error ? error.message : String(error)).trim().split("\n").at(-1) || "it failed";

/** The error's code; after several attempts to connect, the code of the first one. */
function codeOf(error: unknown): string {
  const { code, errors } = error as { code?: unknown; errors?: Array<{ code?: unknown }> };
  return String(code ?? errors?.[0]?.code ?? "");
}
