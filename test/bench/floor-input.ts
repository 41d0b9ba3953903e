/** Hand-written checks of the input and the key, equal to the service's. */
import type { Contents } from "../../src/features/memories/memory-columns.js";

export class Refusal extends Error {
  constructor(readonly status: number) {
    super(`Refused with ${status}.`);
  }
}

export const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === "object" && value !== null && !Array.isArray(value);

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i;

export function idOf(value: unknown): string {
  if (typeof value !== "string") throw new Refusal(400);
  if (!UUID.test(value)) throw new Refusal(404);
  return value.toLowerCase();
}

export function textOf(value: unknown, min: number, max: number): string {
  if (typeof value !== "string" || value.includes("\0") || !value.isWellFormed()) throw new Refusal(400);
  const text = value.normalize("NFC");
  let length = 0;
  for (const _ of text) length++;
  if (length < min || length > max) throw new Refusal(400);
  return text;
}

export function notBlank(text: string): string {
  if (!/[^\s\p{Z}\p{C}\p{Default_Ignorable_Code_Point}\u2800]/u.test(text)) throw new Refusal(400);
  return text;
}

/** The name of a field in REST. */
export type RestName<Name extends string> = Name extends `${infer Letter}${infer Rest}`
  ? `${Letter extends Lowercase<Letter> ? Letter : `_${Lowercase<Letter>}`}${RestName<Rest>}`
  : "";

const FIELDS: Readonly<Record<RestName<Exclude<keyof Contents, "expiresAt">>, true>> = {
  type: true,
  title: true,
  content: true,
  summary: true,
  tags: true,
  importance: true,
  context: true,
  confidence: true,
  client_id: true,
};

export function newMemory(body: Readonly<Record<string, unknown>>): Contents {
  for (const name of Object.keys(body)) if (!Object.hasOwn(FIELDS, name)) throw new Refusal(400);
  const { summary = null, tags = [], importance = 0.5, context = null, confidence = 0.8 } = body;
  const { client_id: clientId = null } = body;
  const type = textOf(body["type"], 1, 50);
  if (!/^[a-z][a-z0-9_]{0,49}$/.test(type)) throw new Refusal(400);
  if (!Array.isArray(tags) || tags.length > 50) throw new Refusal(400);
  if (typeof importance !== "number" || !(importance >= 0 && importance <= 1)) throw new Refusal(400);
  if (typeof confidence !== "number" || !(confidence >= 0 && confidence <= 1)) throw new Refusal(400);
  if (typeof context !== "object" || JSON.stringify(context).length > 16_384) throw new Refusal(400);
  const normalTags = tags.map((tag) => textOf(tag, 0, 100).trim().toLowerCase().normalize("NFC"));
  return {
    type,
    title: notBlank(textOf(body["title"], 1, 500)),
    content: textOf(body["content"], 1, 50_000),
    summary: summary === null ? null : textOf(summary, 0, 1_000),
    tags: [...new Set(normalTags)].filter((tag) => tag !== ""),
    importance,
    context,
    confidence,
    clientId: clientId === null ? null : notBlank(textOf(clientId, 1, 200)),
    expiresAt: null,
  };
}
