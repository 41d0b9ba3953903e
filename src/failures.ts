import { InvalidSignature } from "./features/billing/index.js";
import { LIMITS } from "./limits.js";
import { AnswerTooLarge } from "./operation/answer-budget.js";
import { RateLimited } from "./operation/budget.js";
import {
  AccountSuspended,
  type Failure,
  InvalidInput,
  ScopeMissing,
  Unauthorized,
  Unavailable,
  examplesOf,
} from "./operation/failure.js";
import { IdempotencyInProgress, IdempotencyKeyReused } from "./operation/idempotency.js";
import type { Operation } from "./operation/operation.js";
import type { Relation } from "./operation/relation.js";
import { BodyTooLarge, TooManyPieces, UnsupportedEncoding } from "./surfaces/body.js";
import { parserRefusals } from "./surfaces/closing.js";
import { QueryTooCostly } from "./surfaces/graphql/cost.js";
import { NoSubscriptions } from "./surfaces/graphql/request.js";
import { ForeignOrigin } from "./surfaces/mcp/door.js";
import { ProtocolFailure } from "./surfaces/mcp/protocol.js";
import { UnsupportedMediaType, refusedByHttp } from "./surfaces/http.js";
import { headRefusals } from "./surfaces/request-head.js";
import { RequestGone } from "./surfaces/oauth/server.js";
import { PriceOutdated } from "./surfaces/pages/account-actions.js";
import { OtherSite } from "./surfaces/pages/account-routes.js";
import type { RaisedFailure } from "./surfaces/pages/errors.js";
import { MethodNotAllowed, NoSuchPath } from "./surfaces/plain-errors.js";
import { NoTunnel, UnreadableTarget } from "./surfaces/server.js";
import { refusalOf } from "./surfaces/slots.js";

/** For the documentation: an example of each failure that a client may get, at any door, with what raises it. */
export function raisedFailures(operations: readonly Operation[], relations: readonly Relation[]): RaisedFailure[] {
  const declared = new Set(operations.flatMap(({ failures }) => failures));
  const ofRelations = new Set(relations.flatMap(({ failures }) => failures).filter((each) => !declared.has(each)));
  return [
    ...[...declared].flatMap((failure) => {
      const by = operations.filter(({ failures }) => failures.includes(failure));
      return examplesOf(failure).map((example) => ({ failure: example, by }));
    }),
    ...raisedBy("any operation", [
      InvalidInput.example,
      new Unauthorized(),
      new AccountSuspended(),
      ScopeMissing.example,
      new Unavailable(),
      RateLimited.example,
    ]),
    ...raisedBy("any change with an Idempotency-Key", [new IdempotencyKeyReused(), new IdempotencyInProgress()]),
    ...raisedBy("GraphQL", [
      ...[...ofRelations].flatMap(examplesOf),
      new AnswerTooLarge(),
      new NoSubscriptions(),
      new QueryTooCostly(LIMITS.graphql.cost + 1, LIMITS.graphql.cost),
    ]),
    ...raisedBy("MCP", [new ForeignOrigin(), ProtocolFailure.example]),
    ...raisedBy("the page on which a program is connected", [new RequestGone()]),
    ...raisedBy("the page of a team and its billing", [new OtherSite(), new PriceOutdated()]),
    ...raisedBy("the webhook of the payment provider", [new InvalidSignature()]),
    ...raisedBy("any request", [
      refusalOf("key", { slots: LIMITS.http.connectionsPerKey, waiting: LIMITS.http.waitingPerKey }),
      new NoSuchPath(),
      new MethodNotAllowed(["GET", "HEAD"]),
      new NoTunnel(),
      new UnreadableTarget(),
      BodyTooLarge.example,
      new TooManyPieces(),
      new UnsupportedEncoding(),
      new UnsupportedMediaType(),
      ...[400, 412].flatMap((status) => refusedByHttp({ status }) ?? []),
      ...headRefusals(LIMITS.http),
      ...parserRefusals(LIMITS.http),
    ]),
  ];
}

const raisedBy = (by: string, failures: readonly Failure[]): RaisedFailure[] =>
  failures.map((failure) => ({ failure, by }));
