import type { Router } from "express";
import { LIMITS } from "../../limits.js";
import { CONNECTIONS_PER_ACCOUNT } from "../../operation/shares.js";
import { formatLimit } from "../../operation/use-limit.js";
import { type Html, html } from "../../platform/html.js";
import { documentationRoute, tableOf } from "./layout.js";

/** A step of a request: its limit, and the time and memory that it takes at most. */
export interface Step {
  readonly step: string;
  readonly bound: string;
  readonly time: string;
  readonly memory: string;
  /** The answer beyond the limit. */
  readonly beyond: string;
}

const { http, json, graphql, mcp, oauth, text, refusal, answer, database, budgets, log, storage, memory, bulk, views } =
  LIMITS;
const count = (number: number): string => number.toLocaleString("en");
const seconds = (milliseconds: number): string => `${milliseconds / 1_000} s`;
const size = (bytes: number): string =>
  bytes < 1_048_576 ? `${rounded(bytes / 1_024)} KiB` : `${rounded(bytes / 1_048_576)} MiB`;
/** Some depend on the memory of the machine. */
const rounded = (number: number): number => Math.round(number * 10) / 10;

const CONSTANT = { time: "constant", memory: "constant" };

/** In the order of a request, from cheap to expensive: each limit is checked before the work that it limits. */
export const STEPS: readonly Step[] = [
  {
    step: "Connection",
    bound:
      `${http.connectionsPerAddress} an address, beyond that each is closed after its answer, or when idle for ` +
      `${seconds(http.spareMs)}; ${count(http.connections)} a server (fewer if it may not open so many files), ` +
      `beyond that the longest idle one is closed; behind proxies not counted by address; ` +
      `${http.pipelined} pipelined requests on one, and none while all heads take ${size(http.headsBytes)}`,
    time: "constant",
    memory: "about 20 KiB",
    beyond: "connection closed",
  },
  {
    step: "Head",
    bound:
      `${size(http.headBytes)}, ${http.headers} headers, address ${size(http.urlBytes)}, ` +
      `media types ${size(http.mediaTypesBytes)}, within ${seconds(http.headTimeoutMs)}`,
    time: "linear in its bytes",
    memory: size(http.headBytes),
    beyond: "413; 400 request_timeout; connection closed",
  },
  {
    step: "Overload",
    bound:
      `${count(http.requestsAtOnce)} running requests, ${size(http.bodiesBytes)} of bodies, ` +
      `${http.loopDelayMs} ms of delay in every turn of the event loop for two windows of ${seconds(http.loopWindowMs)}`,
    ...CONSTANT,
    beyond: "503 with Retry-After, before the request is read; because of bodies, while one is read",
  },
  {
    step: "Concurrent requests",
    bound:
      `${http.connectionsPerAddress} requests of an address and ${http.connectionsPerKey} under a key at a time, ` +
      `${http.graphqlPerAccount} of an account by GraphQL that are new to the server or may answer with more than ` +
      `${count(graphql.smallCost)} values, ${http.largeAtOnce} of all accounts that ask for lists or have bodies of more ` +
      `than ${size(http.largeBodyBytes)} (${http.largePerAccount} of one account, in turn), ` +
      `${http.waitingPerAddress} and ${http.waitingPerKey} more wait ${seconds(http.waitForSlotMs)}`,
    ...CONSTANT,
    beyond: "429 too_many_at_once; 503 with Retry-After because of other accounts",
  },
  {
    step: "Budget of an address",
    bound: `${budgets.keylessPerAddress} requests a minute without a key, ${budgets.failedKeysPerAddress} wrong keys a minute`,
    ...CONSTANT,
    beyond: "429",
  },
  { step: "Key", bound: "one look-up by its hash", ...CONSTANT, beyond: "401" },
  {
    step: "Budget of an account",
    bound: Object.entries(budgets.requestsByPlan)
      .map(([plan, limit]) => `${plan} ${count(limit)}`)
      .join(", ")
      .concat(
        ` requests a minute; in a call of many, ${bulk.itemsPerRequest} items or ${bulk.bytesPerRequest / 1_000} kB count as one, and if too few are left, the call counts as one; ` +
          `${count(views.countedPerRequest)} for which a graph has room, where statistics or an export count, or ` +
          `${count(bulk.foundPerRequest)} found by the filter of a deletion, too`,
      ),
    ...CONSTANT,
    beyond: "429",
  },
  {
    step: "Body",
    bound:
      `${size(http.bodyBytes)} after decompression, ${size(http.ignoredBodyBytes)} of a GET, ` +
      `in ${count(http.bodyPieces)} pieces, within ${seconds(http.bodyTimeoutMs)}`,
    time: "linear in its bytes",
    memory: size(http.bodyBytes),
    beyond: "413; 400 request_timeout; connection closed",
  },
  {
    step: "Turn of the event loop",
    bound:
      `requests start within the first ${http.turnMs} ms of a turn, at least one a turn; large inputs are ` +
      `checked and large answers made in pieces, for ${http.turnMs} ms of a turn`,
    ...CONSTANT,
    beyond: "a later turn",
  },
  {
    step: "JSON",
    bound: `${json.depth} levels, ${count(json.values)} values, names of ${count(json.nameBytes)} bytes`,
    time: "linear, 4 ms for 1 MiB",
    memory: "about 10 times its bytes",
    beyond: "400",
  },
  {
    step: "GraphQL: document",
    bound: `${size(graphql.documentBytes)}, ${count(graphql.lines)} lines, names of ${graphql.nameLength} characters`,
    time: "linear in its bytes",
    memory: "constant",
    beyond: "400",
  },
  {
    step: "GraphQL: parsing",
    bound: `${count(graphql.tokens)} tokens`,
    time: "linear in its bytes",
    memory: "1 MiB",
    beyond: "400",
  },
  {
    step: "GraphQL: selections",
    bound: `${count(graphql.selections)}, with fragments expanded`,
    time: "linear in its tokens: a fragment is visited once",
    memory: "constant",
    beyond: "400",
  },
  {
    step: "GraphQL: shape",
    bound:
      `${graphql.depth} levels, ${graphql.aliases} aliases, ${graphql.fragments} fragments, ` +
      `${graphql.directives} directives`,
    time: "linear in its selections",
    memory: "constant",
    beyond: "400",
  },
  {
    step: "GraphQL: variables",
    bound:
      `${graphql.coercionErrors} errors, then reading stops; ${size(graphql.repeatedUnits)} more by using large ones ` +
      "several times",
    time: "linear in their values",
    memory: "linear in their values",
    beyond: "400",
  },
  {
    step: "GraphQL: cost",
    bound: `${count(graphql.cost)} expected values, ${count(graphql.introspectionCost)} of introspection`,
    time: "linear in its selections",
    memory: "constant",
    beyond: "400 query_too_costly",
  },
  {
    step: "MCP: message",
    bound:
      `one, with an id of ${mcp.idLength} characters; of ${size(mcp.refusedBodyBytes)} when the budget is used up, ` +
      "since the refusal contains its id",
    ...CONSTANT,
    beyond: "400; 429",
  },
  {
    step: "OAuth",
    bound:
      `bodies of ${size(oauth.bodyBytes)}, ${oauth.parameters} parameters in an address, ` +
      `${oauth.redirectUris} redirect addresses of ` +
      `${count(oauth.redirectUriLength)} characters; from one network ` +
      `${formatLimit({ ...oauth.registrationsPerNetwork, of: "registrations" })}, ` +
      `${formatLimit({ ...oauth.startsPerNetwork, of: "attempts to connect" })} and ` +
      `${formatLimit({ ...oauth.documentsPerNetwork, of: "readings of clients' documents" })}; ` +
      `${formatLimit({ ...oauth.documentsPerHost, of: "readings of unknown ones from one host" })}, ` +
      `${oauth.documentsPerShare.limit} of them for one network; ` +
      `${count(oauth.waiting)} clients and requests that wait, ${oauth.tokensPerGrant} tokens of a kind a connection`,
    time: "linear in its bytes; 2.5 s to read a document about a client",
    memory: size(oauth.bodyBytes),
    beyond: "413; 400; 429; the oldest are deleted",
  },
  {
    step: "Input",
    bound: `${refusal.issues} issues, then reading stops; a list longer than its field allows is not read`,
    time: "linear in its values",
    memory: "linear in its values",
    beyond: "400",
  },
  {
    step: "Text",
    bound: `its field's length, ${text.combiningMarks} combining marks in a row`,
    time: "linear in its characters: lengths are compared before anything is normalised",
    memory: "twice its bytes",
    beyond: "400",
  },
  {
    step: "Database",
    bound:
      `${CONNECTIONS_PER_ACCOUNT} of ${database.connections} connections, ${database.searchesPerAccount} searches and ` +
      `${database.exportsPerAccount} page of an export at once an account, ` +
      `${seconds(database.connectionWaitMs)} in total to wait for a slot and a connection, ` +
      `${seconds(database.lockWaitMs)} for a lock or what is left of these, ` +
      `${count(database.waitingPerAccount)} waiting an account, ` +
      `${seconds(database.statementTimeoutMs)} a statement, ${seconds(database.searchTimeoutMs)} a search`,
    time: seconds(database.statementTimeoutMs),
    memory: "the rows of one page",
    beyond: "503 with Retry-After; 429 when too many wait",
  },
  {
    step: "Size of a graph",
    bound: Object.entries(storage)
      .map(([plan, { memories, bytes }]) => `${plan} ${count(memories)} memories and ${count(bytes / 1_000_000)} MB`)
      .join(", "),
    time: "one query before the work, one update of a row after it",
    memory: "constant",
    beyond: "409 graph_full",
  },
  {
    step: "Size of a memory",
    bound: `${count(memory.versions)} earlier versions, ${count(memory.relationships)} relationships`,
    time: "one row deleted for each new one; one query for its relationships",
    memory: "constant",
    beyond: "the oldest version is deleted; 409 too_many_relationships",
  },
  {
    step: "Answer",
    bound:
      `a page by REST ${size(answer.restPageBytes)} (shorter, with a cursor), by GraphQL ${size(answer.graphqlBytes)} ` +
      `and ${count(answer.graphqlPlaces)} objects and list items, ${graphql.rootsAtOnce} root fields at a time ` +
      `(each object and list in a context counts as ${answer.nestedBytes} bytes more); ` +
      `by MCP ${size(mcp.answerBytes)} (cut, with how to get the rest)`,
    time: "linear in its bytes",
    memory: "six times its bytes",
    beyond: "400 answer_too_large",
  },
  {
    step: "Refusal",
    bound: `${size(refusal.bytes)}, ${refusal.issues} issues of ${refusal.issueLength} characters`,
    time: "constant",
    memory: size(refusal.bytes),
    beyond: "cut",
  },
  {
    step: "Log line",
    bound: `${size(log.lineBytes)}; ${size(log.waitingLength)} wait when they cannot be written`,
    time: "constant; requests never wait for it",
    memory: size(log.lineBytes),
    beyond: "cut; dropped and counted",
  },
  {
    step: "Reading the answer",
    bound:
      `progress within ${seconds(http.stalledAnswerMs)}; ${size(http.unsentBytesPerAddress)} unread an address, ` +
      `${size(http.unsentBytes)} a server`,
    time: "constant",
    memory: "what is left of the answer",
    beyond: "connection closed",
  },
];

/** A page of the limits of a request, for operators and for developers of clients. */
export const limitsPage = (): Router => documentationRoute("/docs/limits", "Limits", bodyOf);

const bodyOf = (): Html =>
  html`<p>
      A request passes these steps in this order. Each limit is checked before the work that it limits, and every
      refusal names the limit. Time and memory are maximums. How to call the service is described in
      <a href="../docs">the reference</a> and in <a href="./graphql">GraphQL from a frontend</a>.
    </p>
    ${tableOf(
      ["Step", "Bound", "Time", "Memory", "Beyond"],
      STEPS.map(({ step, bound, time, memory, beyond }) => ({ cells: [step, bound, time, memory, beyond] })),
    )}`;
