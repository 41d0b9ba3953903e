import { Fields, plainName, showValue } from "../fields.js";
import { TEXTS, words } from "../names.js";
import { type JsonObject, isObject } from "../text.js";

const ROLES = new Set<unknown>(words("user assistant system tool human ai agent bot model"));

/** What a message has besides its text. A memory of a chat has more, such as tags or an importance. */
const FIELDS = new Set(
  words("role content text parts name id timestamp time ts createdat refusal toolcalls toolcallid model"),
);

/** What it says is in one of these: `{"name": "Planner", "role": "agent"}` is no message. */
const SAID = ["content", "text", "parts"];

/** `{"role": "user", "content"}`, as most models take it; in LangChain `{"type": "human", "data": {"content"}}`. */
export const isMessage = (value: unknown): boolean =>
  isObject(value) &&
  (ROLES.has(value["role"])
    ? SAID.some((label) => label in value) && Object.keys(value).every((label) => FIELDS.has(plainName(label)))
    : ROLES.has(value["type"]) &&
      isObject(value["data"]) &&
      "content" in value["data"] &&
      Object.keys(value).length === 2);

/**
 * In `conversations.json`, a chat of claude.ai has a list of messages; one of ChatGPT has a tree of them. A memory may
 * have the messages that it is from beside its text.
 */
export const isChat = (value: JsonObject): boolean =>
  Array.isArray(value["chat_messages"]) ||
  (isObject(value["mapping"]) && "current_node" in value) ||
  ([value["messages"], value["history"]].some((list) => Array.isArray(list) && list.some(isMessage)) &&
    !new Fields(value).has(TEXTS, (text) => showValue(text) || undefined));
