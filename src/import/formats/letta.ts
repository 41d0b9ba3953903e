import { type JsonObject, isObject } from "../text.js";
import { type ToolFile, countOthers } from "./tool-file.js";
import type { ToolFormat } from "./tool-format.js";

/** A memory block: `{"label", "value", "description", "limit", …}`. The description says what to write into it. */
export const LETTA_BLOCK: ToolFormat = {
  recognises: (names) => ["label", "value", "limit"].every((name) => names.has(name)),
  text: "value",
  derived: new Set(["limit", "istemplate", "readonly", "preserveonmigration", "hidden"]),
};

/**
 * An agent file of Letta: `{"agents": [{"name", "block_ids"}], "blocks": [{"id", "label", "value"}], "tools", …}`. Its
 * blocks say whose they are, since those of all agents have the same labels. Earlier versions have one agent:
 * `{"agent_type", "name", "core_memory": [{"label", "value"}], "messages", …}`. Undefined for any other file.
 */
export function readAgentFile(file: JsonObject): ToolFile | undefined {
  const { core_memory: core, name, ...rest } = file;
  if (Array.isArray(core) && "agent_type" in rest) {
    const memories = core.map((block: unknown) => (isObject(block) ? { ...block, agents: name } : block));
    return { place: "core_memory", memories, others: countOthers(rest) };
  }
  const { agents, blocks, ...others } = file;
  if (!Array.isArray(agents) || !Array.isArray(blocks) || !agents.every(isAgent)) return undefined;
  const namesOf = new Map<unknown, unknown[]>();
  for (const { name, block_ids: ids } of agents) {
    for (const id of ids) {
      const names = namesOf.get(id) ?? [];
      names.push(name);
      namesOf.set(id, names);
    }
  }
  const withAgents = (block: unknown) => {
    const names = isObject(block) ? namesOf.get(block["id"]) : undefined;
    return names ? { ...(block as JsonObject), agents: names } : block;
  };
  return { place: "blocks", memories: blocks.map(withAgents), others: countOthers({ agents, ...others }) };
}

interface Agent extends JsonObject {
  readonly block_ids: readonly unknown[];
}

const isAgent = (value: unknown): value is Agent => isObject(value) && Array.isArray(value["block_ids"]);
