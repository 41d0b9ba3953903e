/**
 * Every bound on the work that one request, one caller or one stranger can cause. A bound is checked before the work
 * that it bounds. The page `/docs/limits` shows those that requests meet; `test/contract/limits.test.ts` tries each
 * step of that page at the bound and one beyond, or names the test that does.
 */
export const LIMITS = {
  http: {
    /** Request line and headers together. */
    headBytes: 16_384,
    headers: 200,
    urlBytes: 8_192,
    /** Of `Accept` and `Content-Type`: libraries read them by expressions that are quadratic in a run of spaces. */
    mediaTypesBytes: 1_024,
    headTimeoutMs: 10_000,
    /** From the first byte of the head to the last of the body. */
    bodyTimeoutMs: 30_000,
    /** How much of a refused request is still read and discarded, and for how long: else clients miss the answer. */
    lingerBytes: 1_048_576,
    lingerMs: 1_000,
    /** The connection is closed when the client has read nothing of an answer for this long. */
    stalledAnswerMs: 30_000,
    /** Connections of one address, and requests of it that are served at a time; more wait, the rest is refused. */
    connectionsPerAddress: 50,
    waitingPerAddress: 150,
    /** Requests under one key that are served at a time, from wherever they come. */
    connectionsPerKey: 50,
    /** GraphQL requests of one account that are worked on at a time: as many as may have a connection to the database. */
    graphqlPerAccount: 3,
    waitingPerKey: 150,
    /** No longer than `database.connectionWaitMs`, of which it is a part. */
    waitForSlotMs: 2_000,
    /** Requests on one connection that are not answered yet; one more closes it. */
    pipelined: 32,
    /** Of one process, from all addresses. */
    connections: 10_000,
    /**
     * Answers in memory that clients have not read; beyond this, the client that has not read for longest is cut off.
     */
    unsentBytesPerAddress: 64 * 1_048_576,
    unsentBytes: 256 * 1_048_576,
    /** All bodies that are being read or worked on. */
    bodiesBytes: 256 * 1_048_576,
    /** Requests that are being worked on, their bodies read; beyond, further ones are refused unread. */
    requestsAtOnce: 500,
    /** For how long one turn of the event loop may begin new work, or go on with pieces of what has begun. */
    turnMs: 25,
    /**
     * When the event loop is never less late than this, in two windows in a row, further requests are refused unread.
     */
    loopDelayMs: 300,
    loopWindowMs: 1_000,
    /** After decompression. */
    bodyBytes: 1_048_576,
  },
  json: {
    depth: 64,
    values: 20_000,
    /** Of a name: an unknown one is compared with every known name, letter by letter, to suggest what was meant. */
    nameBytes: 1_024,
  },
  graphql: {
    documentBytes: 65_536,
    /** For each place that an error points at, all lines before it are counted anew. */
    lines: 5_000,
    tokens: 1_000,
    depth: 10,
    aliases: 15,
    fragments: 50,
    directives: 20,
    /** Fields, with every fragment put in where it is spread: a few fragments can stand for billions. */
    selections: 1_000,
    /** Root fields of a query that are worked on at a time; the others wait. */
    rootsAtOnce: 3,
    /** Of a field, alias, variable, fragment or type. */
    nameLength: 128,
    /** Values that introspection may answer with; the usual query has half as many. */
    introspectionCost: 40_000,
    /** The values that an answer is expected to have; lists count by their limit. */
    cost: 20_000,
    /** Errors of variables; reading them stops there. */
    coercionErrors: 3,
  },
  text: {
    /** In a row: the Stream-Safe Text Format of UAX #15. NFC is quadratic in their number. */
    combiningMarks: 30,
    /** UTF-16 units of a text for which its field declares no length: ids, cursors, words of a fixed form. */
    unitsUnlessDeclared: 1_000,
    /** Items of a list for which its field declares no size. */
    itemsUnlessDeclared: 1_000,
  },
  refusal: { issues: 20, issueLength: 500, pathLength: 200, bytes: 16_384 },
  answer: {
    restPageBytes: 4 * 1_048_576,
    graphqlBytes: 8 * 1_048_576,
    /** Objects and list items over the whole GraphQL request. */
    graphqlPlaces: 20_000,
  },
  database: {
    /** Of one process, for everything but what follows. */
    connections: 10,
    /** More of one process, to find out whose key a request has and whether the database is there. */
    reservedConnections: 3,
    /** More of one process, for searches alone: they cannot take a connection from anything else. */
    searchConnections: 4,
    /**
     * How long a request waits in all: for its place, for whose key it has, and for connections, be they made or given
     * back by other requests.
     */
    connectionWaitMs: 2_000,
    /**
     * How long a statement waits for a lock; less where its request has waited before, so that both together are
     * hardly longer than `connectionWaitMs`. PostgreSQL looks for deadlocks after 1 s, which must come first.
     */
    lockWaitMs: 1_500,
    /** The least that it waits for a lock. */
    lockWaitLeastMs: 100,
    statementTimeoutMs: 10_000,
    /** On a reserved connection: each looks up a single row. */
    reservedTimeoutMs: 1_500,
    transactionTimeoutMs: 15_000,
    /** A transaction with no statement for this long is ended by PostgreSQL: its locks keep others waiting. */
    idleInTransactionMs: 5_000,
    /** PostgreSQL ends a statement at its timeout; a connection without an answer this much later is cut. */
    answerGraceMs: 500,
    /**
     * A connection that waits this long for an answer is cut if PostgreSQL says that it is not at work for it, or if
     * PostgreSQL cannot be asked because the network to it is gone.
     */
    suspectAfterMs: 1_500,
    /** `/readyz` says by then whether the database is there. */
    readinessMs: 2_000,
    /** For how long `/readyz` repeats what the database has said, however many ask. */
    readinessKeptMs: 1_000,
    /** All statements of one search together. */
    searchTimeoutMs: 2_000,
    /** At the same time, of one account, in one process. */
    searchesPerAccount: 2,
    /** How much of the pool one account may use at the same time. */
    poolSharePerAccount: 1 / 3,
    /**
     * Searches, and other statements, of one account that wait for its share, each up to `connectionWaitMs`; more are
     * refused.
     */
    waitingPerAccount: 200,
  },
  search: {
    /** Words and phrases of a query that are read; the rest is left out. */
    terms: 64,
    /** Words of a query that are scored, the rarest first; all of them are looked up. */
    concepts: 16,
    /** The same where all words are common, so that each is looked up among many memories. */
    commonConcepts: 8,
    /** Where all words are common: candidates that have only some of the words, beside those that have all. */
    commonCandidates: 400,
    /**
     * Words of a query that are compared with the graph's words as misspelt, and as many that are taken as beginnings.
     */
    misspelt: 6,
    /** Known words that may stand for one that is misspelt or only begun. */
    alike: 20,
    /** Candidates for each way to match: one more than a search counts, to know whether there are more. */
    candidates: 1_001,
    /** The same where the search is narrowed by importance or dates, which are not in the index. */
    examined: 10_000,
    /** Neighbouring words of the query that are looked for side by side, and the best hits in which they are. */
    pairs: 4,
    pairsIn: 40,
    /** The words of a graph are counted again when it has this many new ones, and one more for every 20 memories. */
    uncountedWords: 20,
    /** Memories from which the words of a larger graph are counted. */
    countedMemories: 10_000,
    /** How long after something was taken from a graph its words are looked at, whether a memory still has them. */
    forgottenAfterHours: 6,
    /** Words that are looked at in one turn. */
    forgottenWords: 200,
  },
  idempotency: {
    /** For how long the first result under an Idempotency-Key is kept at least; operators may keep it longer. */
    keptHours: 24,
  },
  /** What hangs on one memory, and goes with it when it is deleted. */
  memory: {
    /** Earlier versions that are kept, the newest. */
    versions: 1_000,
    /** Relationships, in both directions together. */
    relationships: 10_000,
  },
  log: {
    lineBytes: 4_096,
    /** Of a list in a line, such as the operations of a request. */
    listed: 20,
    /** Characters of an error's message, and of where it came from. */
    messageLength: 500,
    framesLength: 2_000,
    /** Characters that wait to be written; lines beyond are dropped and counted. */
    waitingLength: 1_048_576,
    /** The reason of refusals is logged once for each kind in this time. */
    noteEveryMs: 60_000,
  },
  /**
   * What a graph may hold, by the plan that counts for it. Bytes are those of the texts and tags of memories, of their
   * earlier versions and of relationships, and 200 for each of these rows.
   */
  storage: {
    free: { memories: 10_000, bytes: 100_000_000 },
    pro: { memories: 100_000, bytes: 1_000_000_000 },
    team: { memories: 1_000_000, bytes: 10_000_000_000 },
  },
  /** Whatever a start waits for; then the process ends with a sentence on what to do. */
  start: {
    /** That the process may have open, asked before anything is loaded: modules are read some hundred at a time. */
    openFiles: 256,
    connectMs: 5_000,
    /** To read the database's version and its migrations. */
    catalogMs: 10_000,
    /** For another server that migrates; after `reportAfterMs` a message says what this server waits for. */
    migrationLockMs: 60_000,
    reportAfterMs: 2_000,
    /** Within a migration, for a table that somebody else has locked. */
    tableLockMs: 30_000,
    /** One migration; indexes of large tables take their time. */
    migrationMs: 1_800_000,
  },
  stop: {
    /** For requests and chores that have begun; then their connections are cut. */
    drainMs: 10_000,
    /** Of the whole; then the process is ended, whatever hangs. */
    wholeMs: 14_000,
    /** A second signal within this time is the same Ctrl-C, passed on by the terminal and by npm. */
    echoMs: 500,
  },
  /** For Stripe. By when changes and reads are answered, with what comes around the calls, the documentation tells. */
  payments: {
    /** For one request before it is sent a second time; two of them fit into an operation's patience. */
    requestMs: 5_000,
    /** For all calls of one change. */
    changeMs: 12_000,
    /** The same for reading, which can fall back on the copy. */
    readMs: 3_000,
  },
  chores: {
    /** Rows that are deleted in one turn, so that no lock is held for long. */
    rows: 1_000,
    /** One run of a chore; what has not ended by then is left behind and begun anew. */
    runMs: 300_000,
  },
  budgets: {
    /** The window of a budget, unless the budget names another. */
    windowMs: 60_000,
    /** Requests that wait for Redis at the same time; those beyond are counted in the process. */
    askingRedis: 1_000,
    /** Requests a minute by plan, over all keys of a user and all doors: the service's published limits. */
    requestsByPlan: { free: 60, pro: 300, team: 1_000 },
    /** Requests a minute without a key from one address, at any door. */
    keylessPerAddress: 300,
    /** Failed authentications a minute from one address. */
    failedKeysPerAddress: 60,
    /** A /48 of IPv6 counts as this many addresses. */
    networksPer48: 10,
  },
  /** Every wait for the embedded PostgreSQL has an end, and so does what it keeps. */
  embeddedDatabase: {
    /** PostgreSQL takes paths of 1,023 bytes; its own files need the rest. */
    folderNameBytes: 900,
    /** Older lines of its log are dropped at the next start when there are more. */
    logBytes: 10 * 1_048_576,
    /** Creating a cluster takes seconds; an unfinished one of this age was left by a process that was killed. */
    creatingMs: 600_000,
    /** From its start until it answers; reading the write-ahead log after a crash is part of it. */
    readyMs: 60_000,
    connectMs: 5_000,
    /** A statement about roles, locks or who is connected. */
    statementMs: 10_000,
    /** After a server was killed, until PostgreSQL has noticed. */
    serverLockMs: 2_000,
    /** While leaving, in this order: others close their connections, it stops in good order, it stops at once. */
    othersLeaveMs: 1_000,
    stopFastMs: 2_000,
    stopAtOnceMs: 1_000,
    /** Until a connection that does not end is cut. */
    closeMs: 500,
    /** Between two tries to start it again under a running server: the first, and doubled up to the longest. */
    restartFirstMs: 100,
    restartLongestMs: 5_000,
    /** How often the log tells of a database that cannot be started again. */
    restartTellMs: 60_000,
  },
  invitations: {
    /** That one address gets, whoever sends them; those to addresses with a +tag count as to the address without it. */
    perRecipient: { hour: 5, day: 10 },
    /** That one user sends, over all teams. */
    perInviter: { hour: 100, day: 100 },
    /** Times to wait are rounded up to this where they would tell what other people did. */
    waitStepSeconds: 900,
  },
  signUp: {
    /** Codes that one network asks for in an hour, for whatever addresses. */
    asksPerNetwork: { limit: 30, windowMs: 3_600_000 },
    /** The same for one address; no longer than a code is open, so that neighbours cannot keep each other out. */
    asksPerNetworkAndAddress: { limit: 5, windowMs: 900_000 },
    /** Short codes that one network tries in an hour, for whatever addresses. */
    guessesPerNetwork: { limit: 30, windowMs: 3_600_000 },
    /** How long a code can be used, from when its mail is sent. */
    codeMinutes: 15,
    /** That are open at once for one address; no further one is sent meanwhile. */
    openCodes: 3,
    openCodesPerNetwork: 2,
    /** Between two codes that one network asks for. */
    codeGapSeconds: 60,
    /** Wrong tries after which the short form of a code is dead, over all networks. */
    triesPerCode: 20,
    triesPerNetwork: 5,
  },
  mails: {
    /** That are sent at the same time by one process. */
    batch: 10,
    /** How often a process looks for mails to send. */
    lookedEveryMs: 1_000,
    /** For how long a mail that is refused is tried again. */
    givenUpAfterHours: 24,
    /** The longest wait before it is tried again; shorter for a code, for which somebody waits. */
    retrySeconds: { invitation: 3_600, sign_up: 60 },
  },
  keys: {
    /** API keys of a user that are neither revoked nor expired. */
    active: 100,
    /** The same, with those that were replaced and go on working for a while. */
    activeWithReplaced: 200,
    /** New API keys of a user in an hour, replacing others counted: each is kept for months after its end. */
    madePerUser: { limit: 100, windowMs: 3_600_000 },
  },
  /** What the import command reads: all that it keeps of a file is in memory at once. */
  importFile: {
    bytes: 1_073_741_824,
    /** UTF-16 units of one line, or of one JSON value over several lines, such as a file that is one object. */
    valueLength: 134_217_728,
    /** Brackets within brackets. */
    depth: 64,
  },
} as const;
