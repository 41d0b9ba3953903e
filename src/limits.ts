/**
 * Every limit on the work that one request, one caller or one unknown client can cause. A limit is checked before the
 * work that it limits. The page `/docs/limits` shows those for requests; `test/contract/limits.test.ts` tries each step
 * of that page at the limit and one beyond, or names the test that does.
 */
export const LIMITS = {
  http: {
    /** Request line and headers together. */
    headBytes: 16_384,
    headers: 200,
    /** Room for a query of 1,000 characters in any script: most take 9 bytes each in a URL. */
    urlBytes: 12_288,
    /** Of `Accept` and `Content-Type`: libraries parse them by regular expressions, quadratic in a run of spaces. */
    mediaTypesBytes: 1_024,
    headTimeoutMs: 10_000,
    /** From the first byte of the head to the last byte of the body. */
    bodyTimeoutMs: 30_000,
    /** How much of a refused request is read and discarded, and how long: otherwise clients would miss the answer. */
    lingerBytes: 1_048_576,
    lingerMs: 1_000,
    /** A connection is closed when its client has read nothing of an answer for this long. */
    stalledAnswerMs: 30_000,
    /** Connections of one address, and its concurrent requests. Further requests wait, or are refused. */
    connectionsPerAddress: 50,
    waitingPerAddress: 150,
    /** Concurrent requests of one key, from all addresses. */
    connectionsPerKey: 50,
    /** Concurrent GraphQL requests of one account: as many as may have a connection to the database. */
    graphqlPerAccount: 3,
    waitingPerKey: 150,
    /** Counts towards `database.connectionWaitMs`, so it must not be longer. */
    waitForSlotMs: 2_000,
    /** Unanswered requests on one connection; one more closes it. */
    pipelined: 32,
    /** Of one process, from all addresses. */
    connections: 10_000,
    /**
     * Answers in memory that clients have not read. Beyond this, the connection without progress for longest is closed.
     */
    unsentBytesPerAddress: 64 * 1_048_576,
    unsentBytes: 256 * 1_048_576,
    /** The bodies of all running requests. */
    bodiesBytes: 256 * 1_048_576,
    /** Running requests, counted from the end of their bodies. Further ones are refused before they are read. */
    requestsAtOnce: 500,
    /** How long one turn of the event loop may start new work, or continue started work. */
    turnMs: 25,
    /** If the smallest delay of the event loop is larger, in two windows in a row, new requests are refused unread. */
    loopDelayMs: 300,
    loopWindowMs: 1_000,
    /** After decompression. */
    bodyBytes: 1_048_576,
  },
  json: {
    depth: 64,
    values: 20_000,
    /** Of a name: an unknown one is compared with every known name, letter by letter, to suggest a correction. */
    nameBytes: 1_024,
  },
  graphql: {
    documentBytes: 65_536,
    /** For each location of an error, graphql-js counts all lines before it again. */
    lines: 5_000,
    tokens: 1_000,
    depth: 10,
    aliases: 15,
    fragments: 50,
    directives: 20,
    /** Fields with fragments expanded: a few fragments can expand to billions. */
    selections: 1_000,
    /** Root fields of a query that run at a time; the others wait. */
    rootsAtOnce: 3,
    /** Of a field, alias, variable, fragment or type. */
    nameLength: 128,
    /** Values in an answer to introspection; the usual query needs half as many. */
    introspectionCost: 40_000,
    /** The expected values in an answer; lists count with their limit. */
    cost: 20_000,
    /** Errors of variables; reading them stops there. */
    coercionErrors: 3,
  },
  mcp: {
    /** Characters of a request's id: every answer repeats it. */
    idLength: 256,
    /** Characters of an unknown name or revision that an answer repeats. */
    shownLength: 100,
    /** Characters of a text that an agent sends instead of a list, an object or a number: a context has 16 KB. */
    otherFormLength: 20_000,
    /** Characters of a text that an agent sends for a name or an id, with quotes or spaces around it. */
    otherNameLength: 200,
    /** One answer of a tool as compact JSON: agents pay for each byte, and some clients cut longer ones. */
    answerBytes: 8_192,
    /** The body of a refused request: it is read only for its id, which the refusal repeats. */
    refusedBodyBytes: 65_536,
    /** How long clients may keep the list of tools. */
    listKeptMs: 300_000,
  },
  text: {
    /** Combining marks in a row, as in the Stream-Safe Text Format of UAX #15: NFC is quadratic in their number. */
    combiningMarks: 30,
    /** UTF-16 units of a text whose field declares no length: ids, cursors, words with a fixed format. */
    unitsUnlessDeclared: 1_000,
    /** Items of a list whose field declares no size. */
    itemsUnlessDeclared: 1_000,
  },
  refusal: { issues: 20, issueLength: 500, pathLength: 200, bytes: 16_384 },
  answer: {
    /** Items of a page of a list. */
    pageItems: 100,
    restPageBytes: 4 * 1_048_576,
    graphqlBytes: 8 * 1_048_576,
    /** Objects and list items over the whole GraphQL request. */
    graphqlPlaces: 20_000,
  },
  database: {
    /** Of one process, for everything except the following. */
    connections: 10,
    /** In addition, for authentication and for readiness checks. */
    reservedConnections: 3,
    /** In addition, only for searches, so that they take no connection from other requests. */
    searchConnections: 4,
    /** How long a request waits in total: for its slot, for authentication, and for new or released connections. */
    connectionWaitMs: 2_000,
    /**
     * How long a statement waits for a lock; less if its request has waited before, so that both together are hardly
     * longer than `connectionWaitMs`. Longer than 1 s, after which PostgreSQL detects deadlocks.
     */
    lockWaitMs: 1_500,
    /** The minimum wait for a lock. */
    lockWaitLeastMs: 100,
    statementTimeoutMs: 10_000,
    /** On a reserved connection: each looks up few rows. */
    reservedTimeoutMs: 1_500,
    transactionTimeoutMs: 15_000,
    /** PostgreSQL ends a transaction that is idle for this long: its locks block others. */
    idleInTransactionMs: 5_000,
    /** PostgreSQL cancels a statement at its timeout; a connection without an answer this much later is cut. */
    answerGraceMs: 500,
    /**
     * A connection that waits this long for an answer is cut if PostgreSQL reports it as idle, or if PostgreSQL cannot
     * be reached.
     */
    suspectAfterMs: 1_500,
    /** How long `/readyz` waits for the database. */
    readinessMs: 2_000,
    /** How long `/readyz` caches its result. */
    readinessKeptMs: 1_000,
    /** All statements of one search together. */
    searchTimeoutMs: 2_000,
    /** Concurrent searches of one account in one process. */
    searchesPerAccount: 2,
    /** How much of the pool one account may use at the same time. */
    poolSharePerAccount: 1 / 3,
    /**
     * Searches, and as many other statements, of one account that wait for its share, each up to `connectionWaitMs`;
     * further ones are refused.
     */
    waitingPerAccount: 200,
  },
  search: {
    /** Characters of a query. */
    queryLength: 1_000,
    /** The best hits, which are ranked and counted: no page goes beyond them. */
    ranked: 1_000,
    /** Words and phrases of a query that are used; the rest is ignored. */
    terms: 64,
    /** Words of a query that are scored, the rarest first. All words are looked up. */
    concepts: 8,
    /** The same if all words are common, since each then matches many memories. */
    commonConcepts: 5,
    /** If all words are common: candidates with only some of the words, in addition to those with all. */
    commonCandidates: 400,
    /** Words of a query that are compared with the graph's words as misspelt, and as many that are used as prefixes. */
    misspelt: 6,
    /** The first words of a query whose runs may have a short form, and parts between two known ones of a word. */
    joined: 20,
    middles: 100,
    /** Words of a query that are looked up in other forms, in languages of other scripts than the Latin one. */
    inflected: 6,
    /** Known words that may replace one that is misspelt or incomplete. */
    alike: 20,
    /** Candidates for each way to match: one more than a search counts, to know whether there are more. */
    candidates: 1_001,
    /**
     * The candidates' words are read if they have at most so many bytes together; else each word is looked up in the
     * index once more, which does not depend on their size. In a large graph a look-up costs as much as reading so many
     * bytes for each memory of the graph: then more is read, up to a maximum.
     */
    readBytes: 600_000,
    readBytesPerLookUp: 2,
    readBytesMost: 4_000_000,
    /**
     * The newest and the oldest memories, which are read before the index where so many times more memories match, and
     * bytes of their words for each memory of the graph; with types, tags or filters, for each memory that is read.
     */
    walkedRows: 12_000,
    walkedForMatches: 16,
    walkedBytesPerMemory: 16,
    walkedBytesPerRow: 1_600,
    /** Memories that are looked at if the search has filters on importance or dates, which are not in the index. */
    examined: 12_000,
    /** Adjacent words of the query that are searched as pairs, and the best hits in which they are searched. */
    pairs: 4,
    pairsIn: 40,
    /** Names with signs, such as `c++`, and the best hits whose texts they are looked for in. */
    names: 4,
    namesIn: 200,
    /** Bytes of the words of these hits. */
    nameBytes: 600_000,
    /** Bytes of contents, in total, that snippets are cut from; of each further hit, the first characters. */
    snippetBytes: 500_000,
    snippetCharacters: 1_000,
    /** Hits of a search that explains them. */
    explained: 50,
    /** The words of a graph are counted again when it has this many new ones, plus one for every 20 memories. */
    uncountedWords: 20,
    /** Memories from which the words of a larger graph are counted. */
    countedMemories: 10_000,
    /** How long after a removal the words of a graph are checked for ones that no memory contains any more. */
    forgottenAfterHours: 6,
    /** Words that are checked in one run. */
    forgottenWords: 200,
  },
  /** Search by meaning, where an embeddings server is configured. */
  embeddings: {
    /** How long a search waits for everything that it finds by meaning; then it is by words alone. */
    searchMs: 150,
    /** For one request of texts to the server, by a background job, and how many texts it has at most. */
    requestMs: 30_000,
    textsAtOnce: 32,
    /** Queries that are embedded at the same time, and for how long: later searches use a late vector. */
    queriesAtOnce: 32,
    queryMs: 5_000,
    /** Of the server's answer, per text: 4,096 numbers with 16 digits each. */
    answerBytesPerText: 65_536,
    dimensions: 4_096,
    /**
     * The size of a piece of a memory (see `sizeOf`), and the least if the server refuses longer texts. The characters
     * of one memory that are embedded, and its pieces.
     */
    pieceSize: 2_000,
    pieceSizeMin: 125,
    embeddedCharacters: 54_000,
    pieces: 120,
    /** Memories that one process embeds at a time. While `queued` memories wait, no older ones are added. */
    batch: 16,
    queued: 1_000,
    lookedEveryMs: 1_000,
    /** Attempts per memory, each after a longer wait. */
    attempts: 20,
    shortestWaitMs: 60_000,
    longestWaitMs: 3_600_000,
    /** Vectors of queries that are kept in memory. */
    queriesKept: 1_000,
    /** All vectors in the memory of one process; those of the graphs searched least recently are forgotten. */
    vectorBytes: 512 * 1_048_576,
    /** Vectors that are loaded by one statement. */
    loaded: 2_000,
    /** The best hits by words and by meaning that are merged: pages beyond them are by words alone. */
    mergedByWords: 100,
    mergedByMeaning: 50,
    /** If a filter leaves fewer memories, the nearest of them are found; else it is tried on this many nearest. */
    filtered: 5_000,
  },
  /** The search for memories similar to one that is stored. Its limits mean the same as those of `search`. */
  similar: {
    most: 3,
    /** The least relevance that counts as similar. */
    scoreMin: 0.6,
    /** How long storing a memory waits for them. */
    waitMs: 250,
    concepts: 6,
    commonConcepts: 3,
    candidates: 200,
    commonCandidates: 100,
    readBytes: 200_000,
    walkedRows: 2_000,
  },
  idempotency: {
    /** How long the first result of an Idempotency-Key is kept at least; operators may keep it longer. */
    keptHours: 24,
  },
  /** Data of one memory, which is deleted with it. */
  memory: {
    /** Earlier versions that are kept; the oldest are deleted. */
    versions: 1_000,
    /** Relationships, in both directions together. */
    relationships: 10_000,
    /** Of its `context`, as compact JSON: bytes, and levels of objects and lists. */
    contextBytes: 16_384,
    contextDepth: 20,
  },
  /** What can be reached from a memory. */
  walk: {
    depth: 5,
    /** Relationships that one level looks at: a hub with more is walked in part, never without end. */
    steps: 10_000,
    /** Items of an answer that lists each memory once, and of one that lists each relationship. */
    memories: 100,
    relationships: 1_000,
  },
  /** Views of many memories at once: each says when it ended at its limit. */
  views: {
    /** Memories, and as many relationships, that the statistics of a graph count. */
    counted: 1_000_000,
    /** Types that are listed with their counts, the most common first. */
    types: 100,
    /** The most recently changed memories that recent activity covers. */
    changed: 100_000,
    /** Problems among them that are checked for a solution. */
    problems: 10_000,
    /** Relationships that the search for a path looks at, in total: as many as two memories can have. */
    pathRelationships: 20_000,
    /** Relationships that are looked at to find the memories of a drawing, and as many to find how they are linked. */
    drawnFrom: 20_000,
    /** Relationships in a drawing. */
    edges: 2_000,
  },
  bulk: {
    /** Memories and relationships together that one call makes, and memories that one call deletes. */
    items: 500,
    /** How many of them count as one request of the account's budget: making 500 takes less time than 25 requests. */
    itemsPerRequest: 25,
    /** As how many requests a stream of a whole graph counts, whatever its size. */
    exportRequests: 20,
    /** Relationships that one call deletes with its memories. */
    relationshipsDeleted: 20_000,
  },
  log: {
    lineBytes: 4_096,
    /** Items of a list in a line, such as the operations of a request. */
    listed: 20,
    /** Characters of an error's message, and of its stack. */
    messageLength: 500,
    framesLength: 2_000,
    /** Characters that wait to be written; further lines are dropped and counted. */
    waitingLength: 1_048_576,
    /** Each kind of warning is logged once in this time. */
    noteEveryMs: 60_000,
  },
  /**
   * The maximum size of a graph, by its plan. Bytes count the texts, tags and contexts of memories, of their earlier
   * versions and of relationships, plus 200 for each of these rows.
   */
  storage: {
    free: { memories: 10_000, bytes: 100_000_000 },
    pro: { memories: 100_000, bytes: 1_000_000_000 },
    team: { memories: 1_000_000, bytes: 10_000_000_000 },
  },
  /** Timeouts of the start, after which the process ends with a sentence on what to do. */
  start: {
    /** Files that the process must be able to open. Checked first: Node reads some hundred modules at a time. */
    openFiles: 256,
    connectMs: 5_000,
    /** To read the database's version and its migrations. */
    catalogMs: 10_000,
    /** For another server that migrates; after `reportAfterMs` a message says so. */
    migrationLockMs: 60_000,
    reportAfterMs: 2_000,
    /** Within a migration, for a table that another connection has locked. */
    tableLockMs: 30_000,
    /** For one migration; creating indexes on large tables takes long. */
    migrationMs: 1_800_000,
  },
  stop: {
    /** In production: how long requests are still answered, until proxies notice; each answer closes its connection. */
    leaveMs: 3_000,
    /** For running requests and background jobs; then their connections are cut. */
    drainMs: 10_000,
    /** For the whole shutdown; then the process is killed, even if something hangs. */
    wholeMs: 17_000,
    /** A second signal within this time is the same Ctrl-C, sent by the terminal and by npm. */
    echoMs: 500,
  },
  /** Timeouts for Stripe. `ANSWERED_WITHIN_S` has the documented times, which include the work around the calls. */
  payments: {
    /** For one request before its retry; two of them fit into the time limit of an operation. */
    requestMs: 5_000,
    /** For all calls of one change. */
    changeMs: 12_000,
    /** For all calls of one read, which can use the stored copy instead. */
    readMs: 3_000,
  },
  chores: {
    /** Rows that are deleted in one run, so that no lock is held for long. */
    rows: 1_000,
    /** One run of a background job; then it is abandoned, and started again. */
    runMs: 300_000,
  },
  budgets: {
    /** The default window of a budget. */
    windowMs: 60_000,
    /** How long a request waits for Redis, so that a hung Redis delays it little. Then it is counted in the process. */
    redisWaitMs: 200,
    /** Requests that wait for Redis at the same time; further ones are counted in the process. */
    askingRedis: 1_000,
    /** Requests a minute by plan, for all keys of a user and all doors together: the documented limits. */
    requestsByPlan: { free: 60, pro: 300, team: 1_000 },
    /** Requests a minute without a key from one address, at any door. */
    keylessPerAddress: 300,
    /** Failed authentications a minute from one address. */
    failedKeysPerAddress: 60,
    /** A /48 of IPv6 counts as this many addresses. */
    networksPer48: 10,
  },
  /** Timeouts and sizes of the embedded PostgreSQL. */
  embeddedDatabase: {
    /** PostgreSQL allows paths of 1,023 bytes; its own files need the rest. */
    folderNameBytes: 900,
    /** A larger log is emptied at the next start. */
    logBytes: 10 * 1_048_576,
    /** Creating a cluster takes seconds; an incomplete one of this age is from a process that was killed. */
    creatingMs: 600_000,
    /** From its start until it is ready, with the recovery after a crash. */
    readyMs: 60_000,
    connectMs: 5_000,
    /** A statement about roles, locks or connections. */
    statementMs: 10_000,
    /** How long PostgreSQL may take to notice that a server was killed. */
    serverLockMs: 2_000,
    /** The steps of stopping: wait for other connections, stop with a checkpoint, stop at once. */
    othersLeaveMs: 1_000,
    stopFastMs: 2_000,
    stopAtOnceMs: 1_000,
    /** How long a connection may take to close before it is cut. */
    closeMs: 500,
    /** The wait between two attempts to restart it: the first one, doubled up to the longest one. */
    restartFirstMs: 100,
    restartLongestMs: 5_000,
    /** How often the log reports that it cannot be restarted. */
    restartTellMs: 60_000,
  },
  teams: {
    /** Members of a team, including its owner. */
    members: 1_000,
  },
  invitations: {
    /** Invitations to one address from all senders; addresses with a +tag count as the address without it. */
    perRecipient: [
      { limit: 5, windowMs: 3_600_000 },
      { limit: 10, windowMs: 86_400_000 },
    ],
    /** Invitations from one user, for all teams. Mails by the links of these invitations are counted apart. */
    perInviter: [{ limit: 100, windowMs: 86_400_000 }],
    /**
     * Mails of one invitation by its link, which needs no key. Fewer than `perRecipient`: whoever has the link cannot
     * use up what others need to invite the same address.
     */
    mailsByLink: [
      { limit: 3, windowMs: 3_600_000 },
      { limit: 5, windowMs: 86_400_000 },
    ],
    /** The same for all invitations from one network. */
    mailsPerNetwork: { limit: 30, windowMs: 3_600_000 },
    /** Reads of an invitation, which need no key: of one, and of all, so that an office can use one address. */
    readsOfOne: { limit: 30, windowMs: 60_000 },
    readsPerNetwork: { limit: 300, windowMs: 60_000 },
    /** Times to wait are rounded up to this, if they would show what other people did. */
    waitStepSeconds: 900,
  },
  signUp: {
    /** Codes that one network requests in an hour, for all addresses. */
    asksPerNetwork: { limit: 30, windowMs: 3_600_000 },
    /**
     * The same for one address. Not longer than a code is valid, so that users of one network do not block each other.
     */
    asksPerNetworkAndAddress: { limit: 5, windowMs: 900_000 },
    /** Attempts with short codes from one network in an hour, for all addresses. */
    guessesPerNetwork: { limit: 30, windowMs: 3_600_000 },
    /** How long a code is valid after its mail is sent. */
    codeMinutes: 15,
    /** Valid codes for one address at the same time; no further one is sent until one ends. */
    openCodes: 3,
    openCodesPerNetwork: 2,
    /** The time between two codes that one network requests. */
    codeGapSeconds: 60,
    /** Wrong attempts, from all networks, after which the short form of a code is disabled. */
    triesPerCode: 20,
    triesPerNetwork: 5,
  },
  mails: {
    /** Mails that one process sends at the same time. */
    batch: 10,
    /** How often a process checks for mails to send. */
    lookedEveryMs: 1_000,
    /** How long a refused mail is retried. */
    givenUpAfterHours: 24,
    /** The longest wait before a retry; shorter for a code, since a person waits for it. */
    retrySeconds: { invitation: 3_600, notice: 3_600, sign_up: 60 },
  },
  /** Programs that are connected by OAuth. */
  oauth: {
    /** A body: registrations are a list of addresses, and the others forms. */
    bodyBytes: 16_384,
    redirectUris: 10,
    redirectUriLength: 1_000,
    /** Characters of a program's name; it is the name of its key. */
    nameLength: 100,
    registrationsPerNetwork: { limit: 60, windowMs: 3_600_000 },
    /**
     * Attempts to connect a program. Each stores its request until it is answered, and may fetch a client's metadata.
     */
    startsPerNetwork: { limit: 60, windowMs: 600_000 },
    /**
     * Readings of clients' documents that one network causes; of documents that are not known, from one host, for all
     * networks and for one of them.
     */
    documentsPerNetwork: { limit: 60, windowMs: 600_000 },
    documentsPerHost: { limit: 60, windowMs: 600_000 },
    documentsPerShare: { limit: 15, windowMs: 600_000 },
    /** How long a document is kept at least, whatever its server says, and how many documents count as known. */
    documentSeconds: 300,
    knownDocuments: 1_000,
    /**
     * Registered clients that nobody connected, and requests that wait for an answer: beyond, the oldest are deleted.
     */
    waiting: 10_000,
    /** Tokens of a kind that are kept for one connection. Beyond, the oldest are deleted. */
    tokensPerGrant: 10,
    /** How long a registered client is kept until somebody connects it. */
    clientDays: 30,
    /** How long a person may take to answer the page. */
    requestMinutes: 20,
    codeSeconds: 60,
    /** How long a connection without tokens lasts. */
    unusedGrantSeconds: 120,
    accessMinutes: 15,
    /** How long a connection lasts without use, and at most. */
    refreshDays: 30,
    grantDays: 365,
  },
  keys: {
    /** API keys of a user that are neither revoked nor expired. */
    active: 100,
    /** The same, including replaced keys that still work for a while. */
    activeWithReplaced: 200,
    /** New API keys of a user in an hour, including replacements: each is kept for months after its end. */
    madePerUser: { limit: 100, windowMs: 3_600_000 },
  },
  /** Limits of files for the import command, which keeps a file's graph in memory. */
  importFile: {
    /** Its graph takes ten times as much memory, and a process has 4 GB. The service's own exports have no limit. */
    bytes: 268_435_456,
    /** UTF-16 units of one line, or of one JSON value over several lines. */
    valueLength: 134_217_728,
    /** Levels of nested brackets. */
    depth: 64,
  },
  /** A folder of notes to import, which is read as a whole. */
  importFolder: {
    /** Files and folders of any kind. */
    files: 100_000,
    /** Of one note, and of all notes. */
    fileBytes: 4_194_304,
    bytes: 268_435_456,
    /** Folders within folders. */
    depth: 32,
  },
} as const;
