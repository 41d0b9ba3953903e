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

const FIELDS = new Set([
  "type",
  "title",
  "content",
  "summary",
  "tags",
  "importance",
  "context",
  "confidence",
  "client_id",
]);

export function newMemory(body: Readonly<Record<string, unknown>>): Contents {
  for (const name of Object.keys(body)) if (!FIELDS.has(name)) throw new Refusal(400);
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
