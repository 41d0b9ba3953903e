import { afterAll, beforeAll } from "vitest";
import { LIMITS } from "../../src/limits.js";

type Rooms = typeof LIMITS;
/** Some of the limits, by their rooms. */
export type SomeLimits = { readonly [Room in keyof Rooms]?: { readonly [Name in keyof Rooms[Room]]?: number } };

/** Gives the servers of a file's tests these limits. What a module read when it was loaded stays as it was. */
export function useLimits(room: "mails", limits: SomeLimits[typeof room]): void {
  const before = { ...LIMITS[room] };
  beforeAll(() => void Object.assign(LIMITS[room], limits));
  afterAll(() => void Object.assign(LIMITS[room], before));
}
