import { Fields, asKey, asTexts, showValue } from "../fields.js";
import { IDS, NAMES, TEXTS } from "../names.js";
import { type JsonObject, isObject } from "../text.js";
import { type ToolFile, countOthers } from "./tool-file.js";
import type { ToolFormat } from "./tool-format.js";

/** An observation of Engram: `{"id", "sync_id", "session_id", "type", "title", "content", "scope", "topic_key", …}`. */
export const ENGRAM: ToolFormat = {
  recognises: (names) => ["sessionid", "scope", "title", "content"].every((name) => names.has(name)),
  derived: new Set(["syncid", "revisioncount", "duplicatecount", "lastseenat"]),
};

/** An observation or a summary of claude-mem, as `readAgentLog` makes it. */
export const CLAUDE_MEM: ToolFormat = {
  recognises: (names) => names.has("memorysessionid") && names.has("createdatepoch"),
  derived: new Set(["createdatepoch", "promptnumber", "discoverytokens", "contenthash"]),
};

/**
 * What programs observed that work beside an agent, as Engram and claude-mem export it: `{"observations": [{"title", …}],
 * "sessions": […], "prompts": […]}`, with `summaries` of sessions in claude-mem. Undefined for any other file.
 */
export function readAgentLog(file: JsonObject): ToolFile | undefined {
  const { observations, sessions, summaries = [], ...others } = file;
  const isLog = Array.isArray(observations) && observations.some(isTitled) && Array.isArray(sessions);
  if (!isLog || !Array.isArray(summaries) || new Fields(others).has([...NAMES, ...TEXTS, ...IDS], asKey))
    return undefined;
  const told = sessions.filter(hasSummary);
  return {
    memories: [...observations.map(toldObservation), ...summaries.map(titleSummary), ...told.map(titleSession)],
    others: countOthers({ ...others, sessions: sessions.slice(0, sessions.length - told.length) }),
  };
}

const isTitled = (item: unknown) => isObject(item) && new Fields(item).has(["title"], asKey);

/** In claude-mem, the text of an observation is in `narrative` and `facts`, a list in JSON, as its other lists are. */
function toldObservation(observation: unknown): unknown {
  if (!isObject(observation) || !("narrative" in observation)) return observation;
  const { text, narrative, facts, concepts, files_read: read, files_modified: changed, ...fields } = observation;
  const lines = [text, narrative, ...listOf(facts).map((fact) => `- ${showValue(fact)}`)]
    .map(showValue)
    .filter(Boolean);
  return {
    ...fields,
    content: lines.length > 0 ? lines.join("\n") : fields["title"],
    ...{ tags: listOf(concepts), files_read: listOf(read), files_modified: listOf(changed) },
  };
}

const listOf = (value: unknown): readonly unknown[] =>
  (typeof value === "string" && value.startsWith("[") ? asTexts(value) : undefined) ?? [value ?? []].flat();

const PARTS = ["request", "investigated", "learned", "completed", "next_steps", "notes"];

/** Its id is a number of its own, that an observation may have, too. */
function titleSummary(summary: unknown): unknown {
  if (!isObject(summary)) return summary;
  const { id, ...fields } = summary;
  const own = id === undefined ? {} : { id: `summary-${showValue(id)}` };
  const title = showValue(fields["request"]);
  if (title === "") return { ...fields, ...own };
  const parts = PARTS.map((name) => [name, showValue(fields[name])]).filter(([, text]) => text !== "");
  const others = Object.entries(fields).filter(([name]) => !PARTS.includes(name));
  const content = parts.map(([name, text]) => `${name}: ${text}`).join("\n");
  return { title, type: "session_summary", content, ...Object.fromEntries(others), ...own };
}

const hasSummary = (session: unknown): session is JsonObject =>
  isObject(session) && "id" in session && showValue(session["summary"]) !== "";

const titleSession = ({ id, summary, started_at: created, ended_at: updated, ...fields }: JsonObject) => ({
  ...{ title: `Session ${showValue(id)}`, type: "session", content: summary },
  ...{ created_at: created, updated_at: updated, ...fields },
});
