import { isMarked } from "./class-bounds.js";
import type { Operation } from "./operation.js";

/** Whether the tool of an operation does not take an input. */
export const isLeftOut = ({ input, mcp }: Pick<Operation, "input" | "mcp">, name: string): boolean =>
  isMarked(input, name, "notForAgents") || (mcp?.leftOut?.includes(name) ?? false);

/**
 * How MCP offers an operation to agents. Inputs have their names in code, outputs those of REST in camelCase. A name
 * that does not exist stops the server at its start. Texts name another tool only in a sentence of its own: agents that
 * lack the tool do not get the sentence.
 */
export interface ToolRoute {
  /** In snake_case. It must not change, since people write it into the settings of their agents. */
  readonly name: string;
  /** Other names that a call may use; the list of tools does not show them. */
  readonly alsoNamed?: readonly string[];
  /** For agents: when to call it, and what it returns. Replaces the summary, which is for programmers. */
  readonly description: string;
  /** Whether it deletes something that no later call can restore; false by default. */
  readonly isDestructive?: boolean;
  /** Whether repeating the call changes nothing more; false by default. */
  readonly isIdempotent?: boolean;
  /** Inputs that agents do not get, beside those that are marked `notForAgents` where they are declared. */
  readonly leftOut?: readonly string[];
  /** The descriptions of inputs for agents, instead of those for programmers. */
  readonly inputs?: Readonly<Record<string, string>>;
  /** What agents take for an input, and what they have to give instead: said where it is refused. */
  readonly instead?: Readonly<Record<string, string>>;
  /** The maximum of a number, smaller than at the other doors; also its default, unless the default is smaller. */
  readonly most?: Readonly<Record<string, number>>;
  /** The default of a number, smaller than at the other doors. */
  readonly usual?: Readonly<Record<string, number>>;
  /** The outputs that agents get, nested ones as `memories.title`; all by default. */
  readonly outputs?: readonly string[];
  /**
   * An output with a long text, or one of a list's items as `steps.context`: an agent can request the part that begins
   * at a given character.
   */
  readonly inParts?: string;
  /**
   * Says how to get the rest: of an answer that had no room, or whose output `truncated` is true at the other doors.
   * Every tool that reads needs it; after a change there is a text for all.
   */
  readonly ifCut?: string | ((answer: Readonly<Record<string, unknown>>) => string);
  /** Inputs that narrow the result: an answer whose lists are all empty names those of them that were given. */
  readonly narrowing?: readonly string[];
  /**
   * Says what to try next, in an answer whose lists are all empty.
   * @param given the arguments of the call, in snake_case
   */
  whenEmpty?(given: Readonly<Record<string, unknown>>): string;
  /**
   * What an agent has to know of an answer; undefined for most answers. For an empty one it replaces `whenEmpty`.
   * @param given the arguments of the call, in snake_case
   */
  hintOf?(answer: Readonly<Record<string, unknown>>, given: Readonly<Record<string, unknown>>): string | undefined;
}
