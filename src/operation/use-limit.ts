import { hash } from "node:crypto";
import { Store, getGraphQLRateLimiter } from "graphql-rate-limit";
import { DAY_MS, HOUR_MS, MINUTE_MS } from "../durations.js";
import { LIMITS } from "../limits.js";
import { RateLimited } from "./budget.js";
import { networksOf } from "./network.js";
import type { Context } from "./context.js";

/** At most `limit` uses within any time of this length. */
export interface Allowance {
  readonly limit: number;
  readonly windowMs: number;
}

/** How often an operation may be used. Declared on the operation, shown in its documentation at every door. */
export interface UseLimit<Input extends object = object> extends Allowance {
  /** The name of the count; limits with the same name share it. */
  readonly name: string;
  /** What is counted, and for whom: "codes from one network". Follows the number in documentation and messages. */
  readonly of: string;
  /**
   * For whom a use counts: the client's network, the account, or the result of `identify`. `handler`: the handler
   * counts in its transaction, so that a use that is refused later does not count.
   */
  readonly by: "network" | "account" | "input" | "handler";
  identify?(context: Context, input: Input): string;
  /** Which uses count; by default all. */
  when?(input: Input): boolean;
}

/** A limit outside of operations: whoever counts says for whom. */
export type PlainLimit = Omit<UseLimit, "by">;

/**
 * Counts a use for each of these limits. It stays counted when the operation then fails, also by a failing database:
 * the limits protect it from what strangers cause, above all while it is overloaded, and a caller whose answers get
 * lost would otherwise have any number of attempts.
 * @throws RateLimited when one of them is reached; the use has then been counted for the limits before it.
 */
export async function takeUses<Input extends object>(
  context: Context,
  limits: readonly UseLimit<Input>[],
  input: Input,
): Promise<void> {
  for (const limit of limits) {
    if (limit.when?.(input) === false) continue;
    if (limit.by === "network") await takeUseOfNetwork(context, limit);
    else await takeUse(context, limit, identityOf(context, limit, input));
  }
}

/** Counts a use for a limit outside of operations, by the client's network. @throws RateLimited when it is reached. */
export async function takeUseOfNetwork(
  context: Pick<Context, "budgets" | "clientAddress" | "meter">,
  limit: PlainLimit,
): Promise<void> {
  for (const { network, shares } of networksOf(context.clientAddress)) await takeUse(context, limit, network, shares);
}

/** Whether a use of this age can be one: a clock that was ahead has left later ones, which would count until then. */
export const isAgeOfUse = (ageMs: number): boolean => ageMs > -LIMITS.clock.aheadMs;

/**
 * In how many seconds the next use is allowed, by the times of earlier uses; 0 means now, and no wait is longer than the
 * limit's time. graphql-rate-limit decides.
 * @param agesOfUses how many milliseconds ago each earlier use was.
 */
export async function secondsUntilAllowed(
  { limit, windowMs }: Allowance,
  agesOfUses: () => Promise<readonly number[]>,
): Promise<number> {
  const uses = new Uses(agesOfUses);
  const decide = getGraphQLRateLimiter({ identifyContext: () => "", store: uses });
  const call = { parent: undefined, args: {}, context: {}, info: ANY_FIELD };
  const refusal = await decide(call, { max: limit, window: `${windowMs}ms`, uncountRejected: true });
  if (refusal === undefined) return 0;
  // The next use is allowed when this earlier one has left the window.
  const decisive = uses.times[uses.times.length - limit] ?? Date.now();
  return Math.max(1, Math.ceil((decisive + windowMs - Date.now()) / 1_000));
}

/** Describes limits for documentation: "At most 30 codes from one network in an hour." */
export const describeLimits = (limits: readonly UseLimit[]): string =>
  [...limits.map(describeLimit), ...(limits.some(({ by }) => by === "network") ? [NETWORK_NOTE] : [])].join(" ");

const describeLimit = (limit: PlainLimit): string => `At most ${formatLimit(limit)}.`;

/** A limit in words: "30 codes in an hour". */
export const formatLimit = ({ limit, of, windowMs }: Pick<UseLimit, "limit" | "of" | "windowMs">): string =>
  `${limit} ${of} in ${formatWindow(windowMs)}`;

const NETWORK_NOTE =
  "A network is an IPv4 address or an IPv6 /64; " +
  `all networks of an IPv6 /48 together have ${LIMITS.budgets.networksPer48} times the limit.`;

/**
 * Counts a use for a limit, for anything with a name, which may have several times the limit.
 * @throws RateLimited when it is reached.
 */
export async function takeUse(
  { budgets, meter }: Pick<Context, "budgets" | "meter">,
  limit: PlainLimit,
  identity: string,
  shares = 1,
): Promise<void> {
  const shared = { ...limit, limit: limit.limit * shares };
  const seconds = await secondsUntilAllowed(shared, () => budgets.use(`${limit.name}:${identity}`, shared));
  if (seconds === 0) return;
  meter?.refused(limit.name);
  throw new RateLimited(seconds, describeLimit(shared));
}

const identityOf = <Input extends object>(context: Context, { identify }: UseLimit<Input>, input: Input): string =>
  identify ? hash("sha256", identify(context, input), "base64") : context.caller.userId;

/**
 * A store for one decision. The library reads, decides and then writes, so many requests at the same time would all
 * read the same. Here the read also stores the new use if it is allowed, in one atomic step; the library gets the times
 * of the earlier uses, and comes to the same result.
 */
class Uses extends Store {
  times: readonly number[] = [];

  constructor(private readonly ages: () => Promise<readonly number[]>) {
    super();
  }

  override async getForIdentity(): Promise<readonly number[]> {
    const ages = await this.ages();
    const now = Date.now();
    this.times = ages
      .filter(isAgeOfUse)
      .map((age) => now - Math.max(0, age))
      .sort((one, other) => one - other);
    return this.times;
  }

  override setForIdentity(): void {}
}

/** The library names its counts by GraphQL fields; here `takeUse` names them. */
const ANY_FIELD = { fieldName: "use" } as Parameters<ReturnType<typeof getGraphQLRateLimiter>>[0]["info"];

function formatWindow(windowMs: number): string {
  if (windowMs === MINUTE_MS) return "a minute";
  if (windowMs === HOUR_MS) return "an hour";
  if (windowMs === DAY_MS) return "a day";
  return `${windowMs / MINUTE_MS} minutes`;
}
