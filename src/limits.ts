import { totalmem } from "node:os";
import { getHeapStatistics } from "node:v8";

/** With less memory, a process holds less for its clients. */
const FULL_MEMORY_BYTES = 2 * 1_024 ** 3;
/** Of the machine, or of the container if that has less. */
const memoryBytes = Math.min(totalmem(), process.constrainedMemory() || Infinity);

/**
 * The limit of something that clients can make the process hold. In a container of 768 MiB it takes 540 while 40
 * accounts send bodies and read no answers; with the limits of 2 GiB it was killed.
 */
const ofMemory = (limit: number): number => Math.floor(limit * Math.min(1, memoryBytes / FULL_MEMORY_BYTES));

/** What an idle server takes of V8's heap, and a large request: up to 45 MB were measured, of pages by GraphQL. */
const BASE_HEAP_BYTES = 150 * 1_048_576;
const LARGE_HEAP_BYTES = 48 * 1_048_576;
/** How large V8's heap may be depends on the machine's memory and on Node's options. */
const fitIntoHeap = Math.floor((getHeapStatistics().heap_size_limit - BASE_HEAP_BYTES) / LARGE_HEAP_BYTES);
const largeAtOnce = Math.max(3, Math.min(32, fitIntoHeap));

/**
 * Every limit on the work that one request, one caller or one unknown client can cause, with its unit and reason. A
 * limit is checked before the work that it limits. The page `/docs/limits` shows those for requests;
 * `test/contract/limits.test.ts` tries each step of that page at the limit and one beyond, or names the test that does.
 */
export const LIMITS = {
  http: {
    headBytes: 16_384, // Request line and headers together.
    headers: 200,
    urlBytes: 12_288, // Room for a query of 1,000 characters in any script: most take 9 bytes each in a URL.
    mediaTypesBytes: 1_024, // Of `Accept` and `Content-Type`: parsing them is quadratic in a run of spaces.
    headTimeoutMs: 10_000,
    bodyTimeoutMs: 30_000, // From the first byte of the head to the last byte of the body.
    // How much of a refused request is read and discarded, and how long: otherwise clients would miss the answer.
    lingerBytes: 1_048_576,
    lingerMs: 1_000,
    stalledAnswerMs: 30_000, // A connection is closed when its client has read nothing of an answer for this long.
    connectionsPerAddress: 50, // Also its concurrent requests. Further ones wait, or are refused.
    waitingPerAddress: 150,
    // A connection beyond those of its address is closed for a new one after this time without a request. Clients with
    // many connections use each again within it; a request that they send just then would be lost.
    spareMs: 5_000,
    connectionsPerKey: 50, // Concurrent requests of one key, from all addresses.
    // Concurrent GraphQL requests that are new or large (`graphql.smallCost`): as many as may have a connection to the
    // database.
    graphqlPerAccount: 3,
    waitingPerKey: 150,
    waitForSlotMs: 2_000, // Counts towards `database.connectionWaitMs`, so it must not be longer.
    pipelined: 32, // Unanswered requests on one connection; one more closes it.
    connections: ofMemory(10_000), // Of one process, from all addresses; fewer if it may not open so many files.
    // Answers that clients have not read. Beyond this, the connection without progress for longest is closed.
    unsentBytesPerAddress: ofMemory(64 * 1_048_576),
    unsentBytes: ofMemory(256 * 1_048_576),
    bodiesBytes: ofMemory(256 * 1_048_576), // The bodies of all requests whose answers are not made.
    // The heads of all running requests: their headers take up to four times as much. Beyond this, pipelined requests
    // and those with large heads close their connection.
    headsBytes: ofMemory(32 * 1_048_576),
    // Requests that may take much memory while they are worked on: with a body larger than `largeBodyBytes`, or for many
    // items. Further ones wait for their account's turn.
    largeAtOnce,
    largePerAccount: Math.ceil((largeAtOnce - 1) / 3), // About a third, and never half: two accounts do not have all.
    largeBodyBytes: 131_072,
    goneWorkMs: 30_000, // How long work may go on whose client is gone: twice `database.transactionTimeoutMs`.
    // Counted from the end of their bodies until their answer is made; a streamed export, until its first page. Further
    // ones are refused before they are read.
    requestsAtOnce: 500,
    turnMs: 10, // How long one turn of the event loop may start new work, or continue started work.
    // If the smallest delay of the event loop is larger, in two windows in a row, new requests are refused unread.
    loopDelayMs: 300,
    loopWindowMs: 1_000,
    bodyBytes: 1_048_576, // After decompression.
    ignoredBodyBytes: 16_384, // Of a GET: the operation does not read it.
    // In which a body comes, such as chunks: each costs as much as hundreds of bytes. As many as `json.values`, so that
    // a program may send value by value.
    bodyPieces: 20_000,
  },
  json: {
    depth: 64,
    values: 20_000,
    nameBytes: 1_024, // An unknown name is compared with every known one, letter by letter, to suggest a correction.
  },
  graphql: {
    documentBytes: 65_536,
    lines: 5_000, // For each location of an error, graphql-js counts all lines before it again.
    tokens: 1_000,
    depth: 10,
    aliases: 15,
    fragments: 50,
    directives: 20,
    selections: 1_000, // Fields with fragments expanded: a few fragments can expand to billions.
    rootsAtOnce: 3, // Root fields of a query that run at a time; the others wait.
    nameLength: 128, // Of a field, alias, variable, fragment or type.
    introspectionCost: 40_000, // Values in an answer to introspection; the usual query needs half as many.
    introspectionPerRequest: 2_000, // Without a key, so many values that are not cached cost one request more.
    cost: 20_000, // The expected values in an answer; lists count with their limit.
    smallCost: 2_000, // As many values as a page of 100 memories by REST, which takes no slot of `graphqlPerAccount`.
    repeatedUnits: 1_048_576, // Of variables that are used again: as many as a body may have. Objects as in `nestedBytes`.
    coercionErrors: 3, // Errors of variables; reading them stops there.
  },
  mcp: {
    idLength: 256, // Of a request's id: every answer repeats it.
    shownLength: 100, // Characters of an unknown name or revision that an answer repeats.
    otherFormLength: 20_000, // Of a text sent instead of a list, an object (see `contextBytes`) or a number.
    otherNameLength: 200, // Of a text that an agent sends for a name or an id, with quotes or spaces around it.
    answerBytes: 8_192, // As compact JSON: agents pay for each byte, and some clients cut longer ones.
    refusedBodyBytes: 65_536, // A refused request is read only for its id, which the refusal repeats.
    listKeptMs: 300_000, // How long clients may keep the list of tools.
  },
  text: {
    combiningMarks: 30, // In a row, as in UAX #15's Stream-Safe Text Format: NFC is quadratic in their number.
    unitsUnlessDeclared: 1_000, // UTF-16 units where a field declares no length: ids, cursors, words of a fixed format.
    itemsUnlessDeclared: 1_000, // Items of a list whose field declares no size.
  },
  refusal: { issues: 20, issueLength: 500, pathLength: 200, bytes: 16_384 },
  answer: {
    pageItems: 100, // Of a page of a list.
    restPageBytes: 4 * 1_048_576,
    graphqlBytes: 8 * 1_048_576,
    // What an object or list in JSON counts for besides its text, as a context may have thousands of `{}`: each takes 56
    // bytes of memory, and 8 MB of them took 200 MB, so that four requests ended a process with a heap of 384.
    nestedBytes: 32,
    graphqlPlaces: 20_000, // Objects and list items over the whole GraphQL request.
  },
  database: {
    connections: 10, // Of one process, for everything except the following.
    reservedConnections: 3, // In addition, for authentication and for readiness checks.
    searchConnections: 4, // In addition, only for searches, so that they take no connection from other requests.
    connectionWaitMs: 2_000, // How long a request waits for its slot, authentication and connections, in total.
    // How long a statement waits for a lock; less if its request has waited before, so that both together are hardly
    // longer than `connectionWaitMs`. Longer than 1 s, after which PostgreSQL detects deadlocks.
    lockWaitMs: 1_500,
    lockWaitLeastMs: 100, // However long its request has waited.
    statementTimeoutMs: 10_000,
    reservedTimeoutMs: 1_500, // On a reserved connection: each looks up few rows.
    transactionTimeoutMs: 15_000,
    replicaDelayMs: 10_000, // A replica that may be further behind the primary is not read.
    idleInTransactionMs: 5_000, // PostgreSQL ends a transaction that is idle for this long: its locks block others.
    answerGraceMs: 500, // A connection is cut if its answer is this much later than the statement's timeout.
    suspectAfterMs: 1_500, // Or after this, if PostgreSQL reports it as idle or cannot be reached.
    readOnlyKeptMs: 5_000, // How long a connection to a server that accepts no changes is used for reads.
    closeMs: 500, // How long a single connection, outside the pools, may take to close before it is cut.
    readinessMs: 2_000, // How long `/readyz` waits for the database.
    readinessKeptMs: 1_000, // How long `/readyz` caches its result.
    searchTimeoutMs: 2_000, // All statements of one search together.
    searchesPerAccount: 2, // Concurrent ones in one process.
    exportsPerAccount: 1, // Pages of exports that are read at once: with three, others wait 1.5 times as long.
    poolSharePerAccount: 1 / 3, // How much of the pool one account may use at the same time.
    waitingPerAccount: 200, // Searches, and as many other statements, that wait for this share; more are refused.
  },
  search: {
    queryLength: 1_000, // Characters.
    ranked: 1_000, // The best hits, which are ranked and counted: no page goes beyond them.
    terms: 64, // Words and phrases of a query that are used; the rest is ignored.
    // Words of a query that are scored, the rarest first; all are looked up. With 8, pasted errors found memories by words
    // that stand there by chance. 16 rank as well as 12, and take up to half longer if all words are common.
    concepts: 12,
    commonConcepts: 5, // The same if all words are common, since each then matches many memories.
    commonCandidates: 400, // If all words are common: candidates with only some of the words, beside those with all.
    misspelt: 6, // Words compared with the graph's words as misspelt, as many used as prefixes, and as many taken apart.
    // Compounds of two words of a query that are used as prefixes: six for each of the first four pairs. Each reads three
    // pages of the lexicon.
    composed: 24,
    begunWrongly: 2, // Of these, compared with words of three other beginnings, if nothing else is like them.
    joined: 20, // The first words of a query whose runs may have a short form.
    middles: 100, // Parts between two known ones of a word.
    inflected: 6, // Words that are looked up in other forms, and as many in forms of languages in Latin script.
    alike: 20, // Known words that may replace one that is misspelt or incomplete.
    unknownWords: 12, // Words that no memory has and that an answer names: pasted errors have many.
    takenAs: 5, // Known words that it names for each of them.
    takenFrom: 20, // Hits that are looked at for these.
    variants: 64, // Known words that may replace all words together; as many as `terms`, so that each may have one.
    candidates: 1_001, // For each way to match: one more than is counted, to know whether there are more.
    // The candidates' words are read if they have at most so many bytes together; else each word is looked up in the
    // index once more, which does not depend on their size. In a large graph a look-up costs as much as reading so many
    // bytes for each memory of the graph: then more is read, up to a maximum.
    readBytes: 600_000,
    readBytesPerLookUp: 2,
    readBytesMost: 4_000_000,
    // Of the words that phrases are looked for in, in the order in which they are stored. Fewer for a phrase, by a quarter
    // of its size as a query: four sevenths of it for two words, which 12,000 memories of 760 bytes have, or 450 of 20 kB.
    phraseBytes: 16_000_000,
    bestBytes: 1_500_000, // Of the words of the best hits, in which pairs and explanations are looked for.
    // The newest and the oldest memories, which are read before the index where so many times more memories match, and
    // bytes of their words for each memory of the graph; with types, tags or filters, for each memory that is read.
    walkedRows: 12_000,
    walkedForMatches: 16,
    walkedBytesPerMemory: 16,
    walkedBytesPerRow: 1_600,
    examined: 12_000, // Memories looked at if there are filters on importance or dates, which are not in the index.
    pairs: 4, // Adjacent words of the query that are searched as pairs.
    pairsIn: 40, // The best hits in which they are searched.
    names: 4, // Names that are looked for as they are written, such as `c++` and `set up`.
    namesIn: 200, // The best hits whose texts they are looked for in.
    nameBytes: 600_000, // Of the words of these hits, and twice as many of their texts.
    snippetBytes: 500_000, // Of contents that snippets are cut from, in total.
    snippetCharacters: 1_000, // Of each further hit, from its beginning.
    explained: 50, // Hits of a search that explains them.
    uncountedWords: 20, // The words of a graph are counted again at so many new ones, and one for every 20 memories.
    countedMemories: 10_000, // From which the words of a larger graph are counted.
    forgottenAfterHours: 6, // After a removal, until the graph's words are checked for ones that no memory contains.
    forgottenWords: 200, // That are checked in one run.
  },
  /** Search by meaning, where an embeddings server is configured. */
  embeddings: {
    searchMs: 150, // How long a search waits for all that it finds by meaning; then it is by words alone.
    // For one request. A server may load the model for the first, and stop that when the client leaves, as Ollama does;
    // without a GPU a single text may take a minute. A search uses the late vector of an earlier one with its query.
    requestMs: 90_000,
    examinedMs: 10_000, // For one of the doctor, which must say what to do before its own time is up.
    textsAtOnce: 32, // In one request of a background job.
    runMs: 90_000, // Of such a job, before its last requests.
    // How long such jobs wait after 429 without Retry-After. Most limits are by the minute, and OpenAI counts what it
    // refuses: asked sooner, a server that limits requests would refuse several, each with fewer texts.
    limitedMs: 60_000,
    // And with it: Azure OpenAI has been seen to ask for a day where its limit is by the minute. Shorter than the five
    // minutes that the alert about failures looks back, so that it notices a limit that lasts.
    limitedMostMs: 180_000,
    queriesAtOnce: 32,
    answerBytesPerText: 163_840, // Of an answer: 4,096 numbers of 17 digits, each on a line, are 125 kB.
    dimensions: 4_096,
    pieceSize: 2_000, // Of a piece of a memory, by `sizeOf`.
    pieceSizeMin: 125, // If the server refuses longer texts.
    embeddedCharacters: 54_000, // Of one memory.
    pieces: 120, // Of one memory.
    batch: 16, // Memories that one process embeds at a time.
    // Of one account, for its own graph and that of its team, that are embedded in a day: so many, and as many times what
    // these hold. The server may cost money for each, and whoever changes memories again and again could send gigabytes.
    charactersPerDay: 20_000_000,
    timesHeldPerDay: 2,
    dayMs: 86_400_000,
    attemptsDeferred: 3, // Of a memory beyond this, so that a new model does not wait for it (`fill_embeddings`).
    queued: 1_000, // While so many memories wait, no older ones are added.
    lookedEveryMs: 1_000,
    attempts: 20, // Per memory, after waits that grow from `shortestWaitMs` to `longestWaitMs`.
    shortestWaitMs: 60_000,
    longestWaitMs: 3_600_000,
    queriesKept: 1_000, // Vectors of queries in memory.
    vectorMb: 512, // In a process's memory, unless set; those of the graphs searched least recently are forgotten.
    loadedMbPerMinute: 1_024, // Or what fits into memory, if that is more; then searches are by words alone.
    loaded: 2_000, // Vectors, by one statement.
    // Of a graph whose vectors do not fit into memory, if pgvector has an index of them:
    indexed: 1_000, // The nearest that it returns, at most.
    indexedAmong: 200, // If a filter lets pass at most so many memories, the nearest of them are found.
    indexedAgainMs: 3_600_000, // After a failure to make an index.
    // The best hits by words and by meaning that are merged: pages beyond them are by words alone.
    mergedByWords: 100,
    mergedByMeaning: 50,
    filtered: 5_000, // If fewer pass a filter, the nearest of them are found; else it is tried on so many nearest.
  },
  /** The search for memories similar to one that is stored. Other limits mean the same as those of `search`. */
  similar: {
    most: 3,
    scoreMin: 0.45, // How much of two texts' words must be the same, by weight, to count as similar.
    scoreMinOfReplaced: 0.25, // The same for one of its type that it may replace: 16 of 19 are so alike, 9 by scoreMin.
    waitMs: 250, // How long storing a memory waits for them.
    queryLength: 300, // Characters of the new memory whose rarest words are searched for.
    compared: 8, // The best hits, whose texts are compared with its own.
    comparedCharacters: 2_000, // Of each text.
    concepts: 6,
    commonConcepts: 3,
    candidates: 200,
    commonCandidates: 100,
    readBytes: 200_000,
    walkedRows: 2_000,
  },
  idempotency: {
    keptHours: 24, // The first result of an Idempotency-Key; operators may keep it longer.
    // Larger results of an account take together at most as many bytes as a graph of its plan: they outlast the memories,
    // so whoever stores and deletes again and again could fill the disk. Smaller ones, as many as its budget allows in a
    // day, take no more than that.
    smallResultBytes: 1_024,
  },
  /** Data of one memory, which is deleted with it. */
  memory: {
    title: 500, // Characters, as of the next ones.
    content: 50_000,
    summary: 1_000,
    tag: 100,
    tags: 50,
    versions: 1_000, // Earlier ones; the oldest are deleted.
    relationships: 10_000, // In both directions together.
    relationshipContext: 10_000, // Characters of what one of them says.
    contextBytes: 16_384, // As compact JSON.
    contextDepth: 20, // Levels of objects and lists.
  },
  /** What can be reached from a memory. */
  walk: {
    depth: 5,
    steps: 10_000, // Relationships that one level looks at: a hub with more is walked in part.
    memories: 100, // Of an answer that lists each memory once.
    relationships: 1_000, // Of an answer that lists each relationship.
  },
  /** Views of many memories at once: each says when it ended at its limit. */
  views: {
    days: 365, // That recent activity looks back.
    counted: 1_000_000, // Memories, and as many relationships, that the statistics of a graph count, and an export before.
    types: 100, // That are listed with their counts, the most common first.
    changed: 100_000, // The most recently changed memories that recent activity covers.
    problems: 10_000, // Among them, that are checked for a solution.
    pathRelationships: 20_000, // That the search for a path looks at: as many as two memories can have.
    drawnFrom: 20_000, // Relationships looked at for the memories of a drawing, and as many for their links.
    edges: 2_000, // Relationships in a drawing.
    countedPerRequest: 100_000, // Rows, by the bytes of the graph, that are counted for one request of the budget.
  },
  bulk: {
    items: 500, // Memories and relationships together that one call makes, and memories that one call deletes.
    itemsPerRequest: 25, // That count as one request of the budget: making 500 takes less time than 25 requests.
    foundPerRequest: 25_000, // That a deletion's filter finds, the same: counting 100,000 of a tag takes 75 ms.
    bytesPerRequest: 100_000, // Of texts, the same: a megabyte takes PostgreSQL 1 to 3 s, however few memories it is.
    // 50 kB of words that are all new take 0.2 s, three quarters of it to write them into the lexicon.
    sharedBytes: 4_000_000, // Of texts that one call moves into a team's graph.
    exportRequests: 20, // As how many requests a stream of a whole graph counts, whatever its size.
    relationshipsRemoved: 20_000, // By one call with the memories that it deletes, or moves into a team's graph.
  },
  log: {
    lineBytes: 4_096,
    listed: 20, // Items of a list in a line, such as the operations of a request.
    messageLength: 500, // Of an error.
    framesLength: 2_000, // Of its stack.
    waitingLength: 1_048_576, // Characters that wait to be written; further lines are dropped and counted.
    noteEveryMs: 60_000, // Each kind of warning is logged once in this time.
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
    openFiles: 256, // That the process must be able to open. Checked first: Node reads some hundred modules at a time.
    filesKept: 128, // Of all that it may open, for the database, Redis, mails and files; clients get the others.
    connectMs: 5_000,
    catalogMs: 10_000, // To read the database's version and its migrations.
    migrationLockMs: 60_000, // For another server that migrates.
    reportAfterMs: 2_000, // Then a message says so.
    tableLockMs: 30_000, // Within a migration, for a table that another connection has locked.
    migrationMs: 1_800_000, // For one migration; creating indexes on large tables takes long.
  },
  stop: {
    leaveMs: 7_000, // In production, requests are still answered until proxies notice: HAProxy by default in 6 s.
    acceptMs: 500, // To accept the connections that wait in the system's queue, before no more are accepted.
    drainMs: 10_000, // For running requests and background jobs; then their connections are cut.
    wholeMs: 21_000, // For the whole shutdown; then the process is killed, even if something hangs.
    echoMs: 500, // A second signal within this time is the same Ctrl-C, sent by the terminal and by npm.
  },
  /** Timeouts for Stripe. `ANSWERED_WITHIN_S` has the documented times, which include the work around the calls. */
  payments: {
    requestMs: 5_000, // For one request before its retry; two of them fit into the time limit of an operation.
    changeMs: 12_000, // For all calls of one change.
    readMs: 3_000, // For all calls of one read, which can use the stored copy instead.
  },
  billing: {
    graceDaysMax: 60, // Longer than Stripe retries a payment.
  },
  chores: {
    rows: 1_000, // That are deleted in one run, so that no lock is held for long.
    runMs: 300_000, // Then a run is abandoned, and started again.
  },
  budgets: {
    windowMs: 60_000, // Unless a budget has its own.
    redisWaitMs: 200, // So that a hung Redis delays a request little. Then it is counted in the process.
    askingRedis: 1_000, // Requests that wait for Redis; further ones are counted in the process.
    /** Requests a minute by plan, for all keys of a user and all doors together: the documented limits. */
    requestsByPlan: { free: 60, pro: 300, team: 1_000 },
    keylessPerAddress: 300, // Requests a minute without a key, at any door.
    failedKeysPerAddress: 60, // Failed authentications a minute.
    networksPer48: 10, // A /48 of IPv6 counts as this many addresses.
  },
  /** Timeouts and sizes of the embedded PostgreSQL. */
  embeddedDatabase: {
    folderNameBytes: 900, // PostgreSQL allows paths of 1,023 bytes; its own files need the rest.
    logBytes: 10 * 1_048_576, // A larger log is emptied at the next start.
    creatingMs: 600_000, // Takes seconds; an incomplete cluster of this age is from a process that was killed.
    readyMs: 60_000, // From its start until it is ready, with the recovery after a crash.
    connectMs: 5_000,
    statementMs: 10_000, // About roles, locks or connections.
    serverLockMs: 2_000, // How long PostgreSQL may take to notice that a server was killed.
    // The steps of stopping: wait for other connections, stop with a checkpoint, stop at once.
    othersLeaveMs: 1_000,
    stopFastMs: 2_000,
    stopAtOnceMs: 1_000,
    // The wait between two attempts to restart it: the first one, doubled up to the longest one.
    restartFirstMs: 100,
    restartLongestMs: 5_000,
    restartTellMs: 60_000, // How often the log reports that it cannot be restarted.
  },
  teams: {
    members: 1_000, // Including the owner.
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
    mailsPerNetwork: { limit: 30, windowMs: 3_600_000 }, // By the links of all invitations.
    // Reads of an invitation, which need no key: of one, and of all, so that an office can use one address.
    readsOfOne: { limit: 30, windowMs: 60_000 },
    readsPerNetwork: { limit: 300, windowMs: 60_000 },
    waitStepSeconds: 900, // Times to wait are rounded up to this, if they would show what other people did.
  },
  signUp: {
    asksPerNetwork: { limit: 30, windowMs: 3_600_000 }, // Codes that are requested, for all addresses.
    // Not longer than a code is valid, so that users of one network do not block each other.
    asksPerNetworkAndAddress: { limit: 5, windowMs: 900_000 },
    guessesPerNetwork: { limit: 30, windowMs: 3_600_000 }, // Attempts with short codes, for all addresses.
    codeMinutes: 15, // From when its mail is sent.
    openCodes: 3, // Valid ones for one address; no further one is sent until one ends.
    openCodesPerNetwork: 2,
    codeGapSeconds: 60, // Between two codes that one network requests.
    triesPerCode: 20, // Wrong attempts, from all networks, after which the short form of a code is disabled.
    triesPerNetwork: 5,
  },
  clock: {
    readEveryMs: 60_000, // How often this machine's clock is compared with the database's.
    differenceMs: 1_000, // A larger difference is corrected.
    roundTripMs: 1_000, // An answer that takes longer tells nothing.
    contradictionMs: 3_600_000, // At a larger difference nothing old is deleted, and ids may go back.
    // A stored time that is further ahead is of a clock that was ahead, and counts as nothing. Other ones may be ahead a
    // little: transactions that began later may have been done before, and each server has read the clock by itself.
    aheadMs: 60_000,
  },
  mails: {
    batch: 10, // That one process sends at the same time.
    codesOfBatch: 8, // So many strangers may request codes that other mails would wait for hours.
    lookedEveryMs: 1_000, // How often a process checks for mails to send.
    connectMs: 10_000, // To connect to the mail server, and for its greeting.
    sendMs: 60_000, // To send a mail, in all. It may have arrived when this is over: then it arrives twice.
    givenUpAfterHours: 24, // How long a refused mail is retried, from its first attempt.
    /** The longest wait before a retry; shorter for a code, since a person waits for it. */
    retrySeconds: { invitation: 3_600, notice: 3_600, sign_up: 60 },
  },
  /** Programs that are connected by OAuth. */
  oauth: {
    bodyBytes: 16_384, // Registrations are a list of addresses, and the others forms.
    queryLength: 1_000, // Of the door's address, as its metadata repeats it.
    parameters: 100, // Of an address. oidc-provider's Koa takes time quadratic in their number: 6,000 took 0.4 s.
    redirectUris: 10,
    redirectUriLength: 1_000,
    nameLength: 100, // Of a program; it is the name of its key.
    registrationsPerNetwork: { limit: 60, windowMs: 3_600_000 },
    // Attempts to connect a program. Each stores its request until it is answered, and may fetch a client's metadata.
    startsPerNetwork: { limit: 60, windowMs: 600_000 },
    documentsPerNetwork: { limit: 60, windowMs: 600_000 }, // Readings of clients' documents that one network causes.
    documentsPerHost: { limit: 60, windowMs: 600_000 }, // Of documents that are not known, for all networks.
    documentsPerShare: { limit: 15, windowMs: 600_000 }, // The same for one network.
    documentSeconds: 300, // How long a document is kept at least, whatever its server says.
    knownDocuments: 1_000,
    waiting: 10_000, // Clients that nobody connected, and requests without an answer: beyond, the oldest are deleted.
    // Of a kind for one connection: beyond, the oldest are deleted. More than the uses of one refresh token at once
    // (`http.connectionsPerAddress`): each stores another, and only then marks the one that it used.
    tokensPerGrant: 60,
    clientDays: 30, // How long a registered client is kept until somebody connects it.
    requestMinutes: 20, // How long a person may take to answer the page.
    codeSeconds: 60,
    unusedGrantSeconds: 120, // How long a connection without tokens lasts.
    accessMinutes: 15,
    refreshDays: 30, // How long a connection lasts without use.
    grantDays: 365, // How long it lasts at most.
  },
  keys: {
    active: 100, // API keys of a user that are neither revoked nor expired.
    activeWithReplaced: 200, // The same, including replaced keys that still work for a while.
    // New API keys of a user, including replacements: each is kept for months after its end.
    madePerUser: { limit: 100, windowMs: 3_600_000 },
  },
  /** Limits of files for the import command, which keeps a file's graph in memory. */
  importFile: {
    bytes: 268_435_456, // Its graph takes ten times as much, of Node's 4 GB. The service's exports have no limit.
    valueLength: 134_217_728, // UTF-16 units of one line, or of one JSON value over several lines.
    depth: 64, // Levels of nested brackets.
  },
  /** A folder of notes to import, which is read as a whole. */
  importFolder: {
    files: 100_000, // Files and folders of any kind.
    fileBytes: 4_194_304, // Of one note.
    bytes: 268_435_456, // Of all notes.
    depth: 32, // Folders within folders.
  },
} as const;
