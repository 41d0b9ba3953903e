import { plainName } from "../fields.js";
import { words } from "../names.js";
import { type JsonObject, isObject } from "../text.js";

const ROLES = new Set<unknown>(words("user assistant system tool human ai agent bot model"));

/** What a message has besides its text. A memory of a chat has more, such as tags or an importance. */
const FIELDS = new Set(
  words("role content text parts name id timestamp time ts createdat refusal toolcalls toolcallid model"),
);

/** `{"role": "user", "content"}`, as most models take it; in LangChain `{"type": "human", "data": {"content"}}`. */
export const isMessage = (value: unknown): boolean =>
  isObject(value) &&
  (ROLES.has(value["role"])
    ? Object.keys(value).every((label) => FIELDS.has(plainName(label)))
    : ROLES.has(value["type"]) && isObject(value["data"]) && "content" in value["data"]);

/** In `conversations.json`, a chat of claude.ai has a list of messages; one of ChatGPT has a tree of them. */
export const isChat = (value: JsonObject): boolean =>
  Array.isArray(value["chat_messages"]) ||
  (isObject(value["mapping"]) && "current_node" in value) ||
  [value["messages"], value["history"]].some((list) => Array.isArray(list) && list.some(isMessage));
