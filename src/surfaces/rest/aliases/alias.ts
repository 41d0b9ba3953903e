import { InvalidInput } from "../../../operation/failure.js";
import type { HttpMethod } from "../../../operation/operation.js";
import type { Plain } from "../../run.js";

/** A client's request. Unknown fields are ignored. */
export interface AliasRequest {
  /** The id in the path; empty where the path has none. */
  readonly id: string;
  readonly query: Plain;
  readonly body: Plain;
  /** Called between parts of the work, so that other requests get their turn. */
  pause(this: void): Promise<void>;
}

/** Runs an operation by its name, with an input in REST's names. */
export type RunNamed = (operation: string, input: Plain) => Promise<Plain>;

/**
 * Runs operations for a client that has other names for some fields of their inputs: refusals name the client's.
 * @param theirs the client's name of a field, by ours
 */
export const runNaming =
  (run: RunNamed, theirs: Readonly<Record<string, string>>): RunNamed =>
  async (operation, input) => {
    try {
      return await run(operation, input);
    } catch (error) {
      if (!(error instanceof InvalidInput)) throw error;
      throw new InvalidInput(error.details.map((issue) => ({ ...issue, path: pathIn(theirs, issue.path) })));
    }
  };

function pathIn(theirs: Readonly<Record<string, string>>, path: string): string {
  const [field = "", ...within] = path.split(".");
  return [theirs[field] ?? field, ...within].join(".");
}

export interface AliasAnswer {
  readonly status: number;
  /** Undefined for 204. */
  readonly body?: object;
  /** The path of what was created. */
  readonly location?: string;
}

/** A call by another service's clients. It runs operations; its input and its answer have the names of that service. */
export interface Alias {
  readonly method: HttpMethod;
  readonly path: string;
  /** The operations that it stands for: it can run no others. */
  readonly standsFor: readonly string[];
  readonly answer: (request: AliasRequest, run: RunNamed) => Promise<AliasAnswer>;
}

export const ok = (body: object): AliasAnswer => ({ status: 200, body });
/** `id` is ours: a client's own id may be the last part of another path, such as `recent`. */
export const created = (body: object, folder: string, id: unknown): AliasAnswer => ({
  status: 201,
  body,
  location: `${folder}/${String(id)}`,
});
export const NO_CONTENT: AliasAnswer = { status: 204 };
