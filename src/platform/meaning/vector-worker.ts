/**
 * A worker thread that holds matrices of vectors, and finds the vectors nearest to a given one. The bundle has a copy of
 * this file, so it imports only types and modules of Node.
 */
import { parentPort, workerData } from "node:worker_threads";
import type {
  AddVectors,
  FindVectors,
  NearVector,
  VectorAnswer,
  VectorQuestion,
  VectorRow,
  VectorWorkerData,
} from "./vector-messages.js";

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
  /** The query's vector, the rows, and their sums. */
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

type Near = Omit<NearVector, "pieces">;

const PAGE_BYTES = 65_536;
const { module, bytesMax, rowBytes } = workerData as VectorWorkerData;
const compiled = new WebAssembly.Module(module);
const matrices = new Map<string, Matrix>();
let uses = 0;

parentPort?.on("message", ([id, question]: readonly [number, VectorQuestion]) => {
  // The rule is for windows of browsers; workers have no origin.
  // oxlint-disable-next-line unicorn/require-post-message-target-origin
  parentPort?.postMessage([id, answer(question)]);
});

function answer(question: VectorQuestion): VectorAnswer {
  try {
    return question.kind === "add" ? add(question) : find(question);
  } catch {
    // Out of memory: forgets all matrices, which are loaded again when they are needed.
    matrices.clear();
    return question.kind === "add" ? false : undefined;
  }
}

function add({ matrix: name, begins, rows }: AddVectors): boolean {
  if (begins !== undefined) matrices.delete(name);
  else if (!matrices.has(name)) return false;
  for (const row of rows) {
    const matrix = matrices.get(name) ?? createMatrix(name, row.values.length, begins ?? 0);
    if (row.values.length === matrix.dimension) store(matrix, row);
  }
  return makeRoom(name);
}

function createMatrix(name: string, dimension: number, rows: number): Matrix {
  const columns = roundUp(dimension);
  const matrix: Matrix = {
    dimension,
    columns,
    memory: new WebAssembly.Memory({ initial: Math.ceil(bytesFor(columns, rows) / PAGE_BYTES) }),
    owners: [],
    pieces: [],
    versions: [],
    scales: [],
    places: new Map<string, number>(),
    newest: new Map<string, number>(),
    used: ++uses,
  };
  matrices.set(name, matrix);
  return matrix;
}

function store(matrix: Matrix, { owner, piece, version, scale, values }: VectorRow): void {
  const { columns, memory, places, newest } = matrix;
  const key = `${owner} ${piece}`;
  const place = places.get(key) ?? matrix.owners.length;
  const missing = bytesFor(columns, place + 1) - memory.buffer.byteLength;
  // A quarter more, since growing copies the memory.
  if (missing > 0) memory.grow(Math.ceil((missing + memory.buffer.byteLength / 4) / PAGE_BYTES));
  new Uint8Array(memory.buffer, columns + place * columns, columns).fill(0);
  new Uint8Array(memory.buffer).set(values, columns + place * columns);
  places.set(key, place);
  matrix.owners[place] = owner;
  matrix.pieces[place] = piece;
  matrix.versions[place] = version;
  matrix.scales[place] = scale;
  newest.set(owner, Math.max(version, newest.get(owner) ?? 0));
}

/** For the query's vector, the rows and their sums. */
const bytesFor = (columns: number, rows: number): number => columns + rows * (columns + 4) + PAGE_BYTES;

/** Forgets the least recently used matrices; returns whether this one could stay. */
function makeRoom(kept: string): boolean {
  while (bytesHeld() > bytesMax) {
    let [oldest, least] = [kept, Infinity];
    for (const [name, { used }] of matrices) if (name !== kept && used < least) [oldest, least] = [name, used];
    matrices.delete(oldest);
    if (oldest === kept) return false;
  }
  return true;
}

function bytesHeld(): number {
  let bytes = 0;
  for (const { memory, owners } of matrices.values()) bytes += memory.buffer.byteLength + owners.length * rowBytes;
  return bytes;
}

function find(question: FindVectors): NearVector[] | false | undefined {
  const matrix = matrices.get(question.matrix);
  if (!matrix) return undefined;
  if (question.values.length !== matrix.dimension) return false;
  matrix.used = ++uses;
  const sums = multiply(matrix, question.values);
  return chooseNearest(matrix, sums, question).map((near) => ({
    ...near,
    pieces: rowsOf(matrix, near.owner).filter((row) => matrix.versions[row] === near.version).length,
  }));
}

/** The products of all rows with a vector. */
function multiply({ columns, memory, owners }: Matrix, values: Int8Array): Int32Array {
  const rows = owners.length;
  new Int8Array(memory.buffer, 0, columns).fill(0).set(values);
  const out = roundUp(columns + rows * columns);
  const instance = new WebAssembly.Instance(compiled, { env: { memory } });
  const { scan } = instance.exports as { scan(...places: number[]): void };
  if (rows > 0) scan(columns, 0, columns, rows, out);
  return new Int32Array(memory.buffer, out, rows);
}

/** The nearest owners, each by its nearest piece. Runs over all rows: it allocates only for those that are near. */
function chooseNearest(matrix: Matrix, sums: Int32Array, { scale, most, among }: FindVectors): Near[] {
  const { owners, pieces, versions, scales, newest } = matrix;
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
  return sortNearest(best, most);
}

const sortNearest = (found: ReadonlyMap<string, Near>, most: number): Near[] =>
  [...found.values()]
    .sort((one, other) => other.score - one.score || (one.owner < other.owner ? 1 : -1))
    .slice(0, most);

/** The rows of an owner's pieces; after those of its newest version there may be some of earlier ones. */
function rowsOf({ places }: Matrix, owner: string): number[] {
  const rows: number[] = [];
  let place = places.get(`${owner} 0`);
  while (place !== undefined) {
    rows.push(place);
    place = places.get(`${owner} ${rows.length}`);
  }
  return rows;
}

/** To the multiple of 16 that the module for products reads at a time. */
const roundUp = (number: number): number => Math.ceil(number / 16) * 16;
