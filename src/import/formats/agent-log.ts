import { asTexts, plainName, showValue } from "../fields.js";
import { IDS, MEMORY_LISTS, NAMES, RELATION_LISTS, TEXTS } from "../names.js";
import { type JsonObject, isObject } from "../text.js";
import { type ToolFile, countOthers } from "./tool-file.js";
import type { ToolFormat } from "./tool-format.js";

/** An observation of Engram: `{"id", "sync_id", "session_id", "type", "title", "content", "revision_count", …}`. */
export const ENGRAM: ToolFormat = {
  recognises: (names) => ["sessionid", "revisioncount", "duplicatecount"].every((name) => names.has(name)),
  derived: new Set(["syncid", "revisioncount", "duplicatecount", "lastseenat"]),
};

/** An observation or a summary of claude-mem, as `readAgentLog` makes it. */
export const CLAUDE_MEM: ToolFormat = {
  recognises: (names) => names.has("memorysessionid"),
  derived: new Set(["createdatepoch", "promptnumber", "discoverytokens", "contenthash"]),
};

/** Fields of a file or a memory of another program. */
const FOREIGN = new Set([...NAMES, ...TEXTS, ...IDS, ...MEMORY_LISTS, ...RELATION_LISTS]);

/**
 * What programs observed that work beside an agent, as Engram and claude-mem export it: `{"observations": [{"title", …}],
 * "sessions": […], "prompts": […]}`, with `summaries` of sessions in claude-mem. Undefined for any other file.
 */
export function readAgentLog(file: JsonObject): ToolFile | undefined {
  const { observations, sessions, summaries = [], ...others } = file;
  if (!Array.isArray(observations) || !Array.isArray(sessions) || !Array.isArray(summaries)) return undefined;
  if (!("prompts" in others) || Object.keys(others).some((name) => FOREIGN.has(plainName(name)))) return undefined;
  const told = sessions.filter(hasSummary);
  return {
    memories: [...observations.map(toldObservation), ...summaries.map(titleSummary), ...told.map(titleSession)],
    others: countOthers({ ...others, sessions: sessions.filter((session) => !hasSummary(session)) }),
  };
}

/** In claude-mem, the text of an observation is in `narrative` and `facts`, a list in JSON, as its other lists are. */
function toldObservation(observation: unknown): unknown {
  if (!isObject(observation) || !("narrative" in observation)) return observation;
  // One of another program, which would lose these.
  if ("content" in observation || "tags" in observation) return observation;
  const { text, narrative, facts, concepts, files_read: read, files_modified: changed, ...fields } = observation;
  const lines = [text, narrative, ...listOf(facts).map((fact) => `- ${showValue(fact)}`)]
    .map(showValue)
    .filter(Boolean);
  return {
    ...fields,
    content: lines.length > 0 ? lines.join("\n") : fields["title"],
    tags: listOf(concepts),
    files_read: listOf(read),
    files_modified: listOf(changed),
  };
}

const listOf = (value: unknown): readonly unknown[] =>
  (typeof value === "string" && value.startsWith("[") ? asTexts(value) : undefined) ?? [value ?? []].flat();

const PARTS = ["request", "investigated", "learned", "completed", "next_steps", "notes"];

/** Its id is a number of its own, that an observation may have, too. */
function titleSummary(summary: unknown): unknown {
  if (!isObject(summary) || "content" in summary) return summary;
  const { id, ...fields } = summary;
  const own = { id: `summary-${showValue(id)}` };
  const parts = PARTS.map((name) => [name, showValue(fields[name])]).filter(([, text]) => text !== "");
  const others = Object.entries(fields).filter(([name]) => !PARTS.includes(name));
  const content = parts.map(([name, text]) => `${name}: ${text}`).join("\n");
  return { title: fields["request"], type: "session_summary", content, ...Object.fromEntries(others), ...own };
}

const hasSummary = (session: unknown): session is JsonObject =>
  isObject(session) && showValue(session["summary"]) !== "";

function titleSession(session: JsonObject): JsonObject {
  if ("content" in session) return session;
  const { id, summary, started_at: created, ended_at: updated, ...fields } = session;
  return {
    title: `Session ${showValue(id)}`,
    type: "session",
    content: summary,
    created_at: created,
    updated_at: updated,
    ...fields,
  };
}
