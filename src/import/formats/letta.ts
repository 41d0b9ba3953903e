import { type JsonObject, isObject } from "../text.js";
import { type ToolFile, countOthers } from "./tool-file.js";

/**
 * An agent file of Letta: `{"agents": [{"name", "block_ids"}], "blocks": [{"id", "label", "value"}], "tools", …}`. Its
 * blocks say whose they are, since those of all agents have the same labels. Undefined for any other file.
 */
export function readAgentFile({ agents, blocks, ...others }: JsonObject): ToolFile | undefined {
  if (!Array.isArray(agents) || !Array.isArray(blocks) || !agents.every(isAgent)) return undefined;
  const namesOf = new Map<unknown, unknown[]>();
  for (const { name, block_ids: ids } of agents) {
    for (const id of new Set(ids)) {
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
