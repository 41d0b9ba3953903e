import type { JsonObject } from "../text.js";
import type { ToolFormat } from "./tool-format.js";

/** A memory of this service: of an answer, or of an export that another program has rewritten. */
export const OWN_MEMORY: ToolFormat = {
  recognises: (names) => ["clientid", "importance", "confidence", "createdby"].every((name) => names.has(name)),
  clientId: "clientid",
  derived: new Set(["updatedby"]),
};

/** The first or the last line of an export of this service. */
export const isOwnMarker = ({ record }: JsonObject): boolean => record === "graph" || record === "end";
