import { expect } from "vitest";
import type { FailureKind } from "../../src/operation/failure.js";
import type { Verdict } from "./world.js";

expect.extend({
  /** Expects a refusal with this kind of failure and, if given, with this reason. */
  toBeRefused(verdict: Verdict<object>, kind: FailureKind, reason?: string) {
    const actual = verdict.ok ? "accepted" : [verdict.failure.kind, verdict.failure.reason].filter(Boolean).join(" ");
    const expected = [kind, reason].filter(Boolean).join(" ");
    return {
      pass: !verdict.ok && verdict.failure.kind === kind && verdict.failure.reason === reason,
      message: () => `Expected ${expected}, but it was ${actual}${verdict.ok ? "" : `: ${verdict.failure.message}`}`,
    };
  },
});

declare module "vitest" {
  interface Assertion {
    toBeRefused(kind: FailureKind, reason?: string): void;
  }
}
