import type { GraphQLSchema } from "graphql";
import { LIMITS } from "../../limits.js";
import { InvalidInput } from "../../operation/failure.js";
import { inputTypeOf } from "../../operation/input.js";
import type { Operation } from "../../operation/operation.js";
import type { ToolRoute } from "../../operation/tool.js";
import { cutPlace, fitObject, jsonBytes } from "./fit.js";
import { type Output, type Tool, type ToolForm, toolOf } from "./tools.js";

/**
 * The two tools by which ChatGPT's deep research and company knowledge read a source. Their names, their one input and
 * the form of their answers are given (https://platform.openai.com/docs/mcp). They stand for operations whose own
 * tools agents have already, so they are listed only where the address names them.
 */
interface ResearchTool extends ToolForm {
  /** The operation's name. */
  readonly standsFor: string;
  readonly route: Pick<ToolRoute, "name" | "description" | "inputs">;
  /** Whether it needs this one of the outputs that the operation's own tool has. */
  takes(output: string): boolean;
}

const text = { type: "string" } as const;

const searchTool: ResearchTool = {
  standsFor: "searchMemories",
  route: {
    name: "search",
    description: "Finds memories by words, best first; words may be misspelt or missing. `fetch` reads a hit whole.",
    inputs: { query: "Words to find, in any order: two to five find more than a sentence." },
  },
  takes: (output) => ["memories.id", "memories.title"].includes(output),
  schema: {
    results: {
      type: "array",
      items: { type: "object", properties: { id: text, title: text, url: text }, required: ["id", "title", "url"] },
    },
  },
  answerOf({ memories = [] }, { urlOf }) {
    const results = (memories as readonly Output[]).map(({ id, title }) => ({ id, title, url: urlOf(id) }));
    return fitObject({ results }, LIMITS.mcp.answerBytes);
  },
};

/** The id of a memory, with the character of its text from which to read on: `fetch` has no other input for it. */
const PART_OF_TEXT = /^([\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12})#(\d{1,9})$/i;

const fetchTool: ResearchTool = {
  standsFor: "memory",
  route: {
    name: "fetch",
    description: "Reads one memory whole. A text that is cut ends with the id that reads on.",
    inputs: { id: "The id of a search's result, or at the end of a cut text." },
  },
  // With notes at relationships, fewer of them would have room.
  takes: (output) => !["relationships.strength", "relationships.context"].includes(output),
  schema: { id: text, title: text, text, url: text, metadata: { type: "object" } },
  takePart(args) {
    const { id: asked } = args;
    const [, id, from] = (typeof asked === "string" && PART_OF_TEXT.exec(asked)) || [];
    return id === undefined ? undefined : { from: Number(from), others: { ...args, id }, issues: [] };
  },
  answerOf({ id, title, content, ...others }, { from, urlOf }) {
    const [key, whole] = [String(id), String(content ?? "")];
    if (from > whole.length) throw InvalidInput.at("id", `the text has only ${whole.length} characters`);
    const rest = whole.slice(from).toWellFormed();
    const answer = {
      id: from > 0 ? `${key}#${from}` : key,
      title,
      text: rest,
      url: urlOf(key),
      metadata: texts(others),
    };
    if (jsonBytes(answer) <= LIMITS.mcp.answerBytes) return answer;
    const readOn = (at: number) => ` To read on, fetch ${key}#${at}.`;
    const room = LIMITS.mcp.answerBytes - jsonBytes(readOn(whole.length));
    const fitted = fitObject(answer, room, { path: ["text"], from }) as typeof answer;
    return fitted.text === rest ? fitted : { ...fitted, text: fitted.text + readOn(cutPlace(fitted.text)) };
  },
};

/** ChatGPT's example of metadata has only texts as values: others are JSON. */
const texts = (values: Output): Record<string, string> =>
  Object.fromEntries(
    Object.entries(values).map(([name, value]) => [name, typeof value === "string" ? value : JSON.stringify(value)]),
  );

export const researchToolsOf = (operations: readonly Operation[], schema: GraphQLSchema): Tool[] =>
  [searchTool, fetchTool].flatMap(({ standsFor, route, takes, ...form }) =>
    operations
      .filter(({ name }) => name === standsFor)
      .map((operation) => {
        const { inputs = {} } = route;
        const names = Object.keys(inputTypeOf(schema, operation).getFields());
        const leftOut = names.filter((name) => !Object.hasOwn(inputs, name));
        const declared = { ...route, leftOut, outputs: (operation.mcp?.outputs ?? []).filter(takes) };
        return toolOf({ ...operation, mcp: declared }, declared, schema, form);
      }),
  );
