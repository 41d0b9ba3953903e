import { snakeCase } from "../operation/names.js";

/** A value with its names in snake_case, as in REST. */
export function inSnakeCase(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(inSnakeCase);
  if (typeof value !== "object" || value === null || value instanceof Date) return value;
  return Object.fromEntries(Object.entries(value).map(([name, member]) => [snakeCase(name), inSnakeCase(member)]));
}
