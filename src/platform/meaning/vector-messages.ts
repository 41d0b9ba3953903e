/* What `VectorIndex` and its worker thread say to each other. */

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

export interface AddVectors {
  readonly kind: "add";
  readonly matrix: string;
  /** If these rows begin the matrix, for how many there should be room; otherwise it must exist. */
  readonly begins: number | undefined;
  readonly rows: readonly VectorRow[];
}

export interface FindVectors {
  readonly kind: "find";
  readonly matrix: string;
  readonly values: Int8Array;
  readonly scale: number;
  readonly most: number;
  /** Finds only vectors of these owners. */
  readonly among: readonly string[] | undefined;
}

export type VectorQuestion = AddVectors | FindVectors;

/**
 * For `add`: whether the matrix exists now. For `find`: undefined if it does not exist, false if its dimension differs.
 */
export type VectorAnswer = boolean | readonly NearVector[] | undefined;

export interface VectorWorkerData {
  /** The module of `dotProductsModule`. */
  readonly module: Uint8Array<ArrayBuffer>;
  readonly bytesMax: number;
  /** What a vector takes besides its numbers and their product. */
  readonly rowBytes: number;
}
