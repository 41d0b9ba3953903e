import { afterAll, beforeAll } from "vitest";
import { LIMITS } from "../../src/limits.js";

type Rooms = typeof LIMITS;
/** Some of the limits, by section. */
export type SomeLimits = { readonly [Room in keyof Rooms]?: { readonly [Name in keyof Rooms[Room]]?: number } };

/**
 * Sets these limits for the servers of a test file. Modules that copied a limit when they were loaded keep the old one.
 */
export function useLimits<Room extends "mails" | "budgets" | "clock">(room: Room, limits: SomeLimits[Room]): void {
  let limited: Disposable;
  beforeAll(() => void (limited = withLimits(room, limits)));
  afterAll(() => limited[Symbol.dispose]());
}

/** Sets these limits until the end of the block. */
export function withLimits<Room extends keyof Rooms>(room: Room, limits: SomeLimits[Room]): Disposable {
  const before = { ...LIMITS[room] };
  Object.assign(LIMITS[room], limits);
  return { [Symbol.dispose]: () => void Object.assign(LIMITS[room], before) };
}
