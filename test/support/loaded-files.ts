import { existsSync, readFileSync } from "node:fs";
import { basename, dirname, join } from "node:path";

const STATIC = /\b(?:import|export)(?:[^;"`]*?from)?\s*["`](\.[^"`]+)["`]/g;
export const DYNAMIC = /\bimport\(["`](\.[^"`]+)["`]\)/g;

export const placesIn = (text: string, pattern: RegExp): string[] =>
  [...text.matchAll(pattern)].map(([, place = ""]) => place);

/** The files of the build that a start loads: static imports, and what main.js imports at once. */
export function loadedBy(file: string, found: string[] = []): string[] {
  if (found.includes(file)) return found;
  found.push(file);
  const text = readFileSync(file, "utf8");
  const places = [...placesIn(text, STATIC), ...(basename(file) === "main.js" ? placesIn(text, DYNAMIC) : [])];
  // Code also contains strings that look like imports.
  for (const path of places.map((place) => join(dirname(file), place))) if (existsSync(path)) loadedBy(path, found);
  return found;
}
