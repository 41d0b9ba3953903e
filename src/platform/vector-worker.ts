/* The code of a worker thread, which holds matrices of vectors and finds the vectors nearest to a given one. */

/** A vector to keep. A later vector of the same owner and piece replaces it. */
export interface VectorRow {
  readonly owner: string;
  readonly piece: number;
  /** The version of the owner. Vectors of earlier versions are no longer found. */
  readonly version: number;
  readonly scale: number;
  readonly values: Uint8Array;
}

export interface NearVector {
  readonly owner: string;
  readonly version: number;
  /** The cosine of the angle between both vectors, from -1 to 1. */
  readonly score: number;
  /** Which of the owner's pieces is the nearest, from 0, and how many there are. */
  readonly piece: number;
  readonly pieces: number;
}

export type VectorQuestion =
  | {
      readonly kind: "add";
      readonly matrix: string;
      /** Whether these rows begin the matrix; otherwise it must exist. */
      readonly isNew: boolean;
      readonly rows: readonly VectorRow[];
    }
  | {
      readonly kind: "find";
      readonly matrix: string;
      readonly values: Int8Array;
      readonly scale: number;
      readonly most: number;
      /** Finds only vectors of these owners. */
      readonly among: readonly string[] | undefined;
    };

/**
 * For `add`: whether the matrix exists now. For `find`: undefined if it does not exist, false if its dimension differs.
 */
export type VectorAnswer = boolean | readonly NearVector[] | undefined;

export interface VectorWorkerData {
  readonly module: Uint8Array<ArrayBuffer>;
  readonly bytesMax: number;
}

/** Declared here, since Node's types lack it. */
declare const WebAssembly: {
  Module: new (bytes: Uint8Array<ArrayBuffer>) => object;
  Memory: new (size: { initial: number }) => Memory;
  Instance: new (module: object, imports: { env: { memory: Memory } }) => { readonly exports: object };
};
interface Memory {
  readonly buffer: ArrayBuffer;
  grow(pages: number): void;
}

interface Matrix {
  readonly dimension: number;
  /** The dimension, rounded up to a multiple of 16. */
  readonly columns: number;
  readonly memory: Memory;
  readonly owners: string[];
  readonly pieces: number[];
  readonly versions: number[];
  readonly scales: number[];
  /** The row of each vector, by owner and piece. */
  readonly places: Map<string, number>;
  /** The newest version of each owner. */
  readonly newest: Map<string, number>;
  used: number;
}

/**
 * Answers questions in the worker. The function is sent to the worker as text, so it uses nothing from outside but
 * types: a file for the worker would have to be found beside the bundle, and in tests be compiled first.
 */
export function answerForVectors(
  port: {
    on(event: "message", take: (message: readonly [number, VectorQuestion]) => void): void;
    postMessage(answer: unknown): void;
  },
  { module, bytesMax }: VectorWorkerData,
): void {
  type Near = Omit<NearVector, "pieces">;
  const PAGE = 65_536;
  const compiled = new WebAssembly.Module(module);
  const matrices = new Map<string, Matrix>();
  let uses = 0;

  const bytesHeld = () => {
    let bytes = 0;
    for (const { memory, owners } of matrices.values()) bytes += memory.buffer.byteLength + owners.length * 200;
    return bytes;
  };

  /** Forgets the least recently used matrices; returns whether this one could stay. */
  const makeRoom = (kept: string): boolean => {
    while (bytesHeld() > bytesMax) {
      let [oldest, least] = [kept, Infinity];
      for (const [name, { used }] of matrices) if (name !== kept && used < least) [oldest, least] = [name, used];
      matrices.delete(oldest);
      if (oldest === kept) return false;
    }
    return true;
  };

  const add = (name: string, isNew: boolean, rows: readonly VectorRow[]): boolean => {
    if (isNew) matrices.delete(name);
    else if (!matrices.has(name)) return false;
    for (const { owner, piece, version, scale, values } of rows) {
      const columns = Math.ceil(values.length / 16) * 16;
      let matrix = matrices.get(name);
      if (!matrix) {
        const memory = new WebAssembly.Memory({ initial: 1 });
        matrix = {
          dimension: values.length,
          columns,
          memory,
          owners: [],
          pieces: [],
          versions: [],
          scales: [],
          places: new Map(),
          newest: new Map(),
          used: ++uses,
        };
        matrices.set(name, matrix);
      }
      if (values.length !== matrix.dimension) continue;
      const key = `${owner} ${piece}`;
      const place = matrix.places.get(key) ?? matrix.owners.length;
      // Room for the query's vector, the rows, and their sums.
      const needed = columns + (place + 1) * (columns + 4) + PAGE;
      const missing = needed - matrix.memory.buffer.byteLength;
      if (missing > 0) matrix.memory.grow(Math.ceil((missing + matrix.memory.buffer.byteLength / 4) / PAGE));
      new Uint8Array(matrix.memory.buffer, columns + place * columns, columns).fill(0);
      new Uint8Array(matrix.memory.buffer).set(values, columns + place * columns);
      matrix.places.set(key, place);
      matrix.owners[place] = owner;
      matrix.pieces[place] = piece;
      matrix.versions[place] = version;
      matrix.scales[place] = scale;
      matrix.newest.set(owner, Math.max(version, matrix.newest.get(owner) ?? 0));
    }
    return makeRoom(name);
  };

  /** The rows of an owner's pieces; after those of its newest version there may be some of earlier ones. */
  const rowsOf = ({ places }: Matrix, owner: string): number[] => {
    const rows: number[] = [];
    let place = places.get(`${owner} 0`);
    while (place !== undefined) {
      rows.push(place);
      place = places.get(`${owner} ${rows.length}`);
    }
    return rows;
  };

  const sortNearest = (found: ReadonlyMap<string, Near>, most: number): Near[] =>
    [...found.values()]
      .sort((one, other) => other.score - one.score || (one.owner < other.owner ? 1 : -1))
      .slice(0, most);

  const find = (question: VectorQuestion & { kind: "find" }): NearVector[] | false | undefined => {
    const { values, scale, most, among } = question;
    const matrix = matrices.get(question.matrix);
    if (!matrix) return undefined;
    if (values.length !== matrix.dimension) return false;
    const { columns, memory, owners, pieces, versions, scales, newest } = matrix;
    matrix.used = ++uses;
    new Int8Array(memory.buffer, 0, columns).fill(0).set(values);
    const rows = owners.length;
    const out = Math.ceil((columns + rows * columns) / 16) * 16;
    const instance = new WebAssembly.Instance(compiled, { env: { memory } });
    const { scan } = instance.exports as unknown as { scan(...places: number[]): void };
    if (rows > 0) scan(columns, 0, columns, rows, out);
    const sums = new Int32Array(memory.buffer, out, rows);
    const chosen = among?.flatMap((owner) => rowsOf(matrix, owner));
    let best = new Map<string, Near>();
    let least = -Infinity;
    for (let row = 0; row < (chosen ?? owners).length; row++) {
      const place = chosen ? (chosen[row] ?? 0) : row;
      const score = (sums[place] ?? 0) * (scales[place] ?? 0) * scale;
      if (score <= least) continue;
      const owner = owners[place] ?? "";
      const version = versions[place] ?? 0;
      if (version !== newest.get(owner) || score <= (best.get(owner)?.score ?? -Infinity)) continue;
      best.set(owner, { owner, version, score, piece: pieces[place] ?? 0 });
      if (best.size < 2 * most) continue;
      // Sorting seldom costs little, also where many are wanted.
      const nearest = sortNearest(best, most);
      best = new Map(nearest.map((one) => [one.owner, one]));
      least = nearest.at(-1)?.score ?? least;
    }
    return sortNearest(best, most).map((near) => ({
      ...near,
      pieces: rowsOf(matrix, near.owner).filter((row) => versions[row] === near.version).length,
    }));
  };

  port.on("message", ([id, question]) => {
    let answer: VectorAnswer;
    try {
      if (question.kind === "add") answer = add(question.matrix, question.isNew, question.rows);
      else answer = find(question);
    } catch {
      // Out of memory: forgets all matrices, which are loaded again when they are needed.
      matrices.clear();
      answer = question.kind === "add" ? false : undefined;
    }
    port.postMessage([id, answer]);
  });
}
