/**
 * A WebAssembly module of some 200 bytes that multiplies a matrix of bytes by a vector, 16 numbers at a time. To find the
 * nearest of 100,000 rows of 384 numbers takes 4 to 5 ms, where memory is slow 9; the same in JavaScript 56 to 75.
 *
 * It imports a memory, `env.memory`, and exports `scan(matrix, vector, columns, rows, out)`: for each row of the
 * matrix, from the address `matrix` on, it stores the sum of the products with `vector` as an int32, from the address
 * `out` on. `columns` is a multiple of 16, `rows` at least 1.
 */
export function dotProductsModule(): Uint8Array<ArrayBuffer> {
  const name = (text: string) => [text.length, ...Buffer.from(text)];
  const section = (id: number, content: readonly number[]) => [id, ...encodeUnsigned(content.length), ...content];
  const code = scan();
  return new Uint8Array([
    ...MAGIC_AND_VERSION,
    ...section(1, [1, 0x60, 5, I32, I32, I32, I32, I32, 0]),
    ...section(2, [1, ...name("env"), ...name("memory"), 0x02, 0x00, 1]),
    ...section(3, [1, 0]),
    ...section(7, [1, ...name("scan"), 0x00, 0]),
    ...section(10, [1, ...encodeUnsigned(code.length), ...code]),
  ]);
}

const MAGIC_AND_VERSION = [0x00, 0x61, 0x73, 0x6d, 1, 0, 0, 0];
const [I32, V128] = [0x7f, 0x7b];
/** The function's parameters, and then its variables. */
const [MATRIX, VECTOR, COLUMNS, ROWS, OUT, AT, END, SUM] = [0, 1, 2, 3, 4, 5, 6, 7];

function encodeUnsigned(number: number): number[] {
  return number < 128 ? [number] : [(number & 127) | 128, ...encodeUnsigned(number >>> 7)];
}

const get = (place: number) => [0x20, place];
const set = (place: number) => [0x21, place];
const tee = (place: number) => [0x22, place];
/** A constant from -64 to 63. */
const constant = (value: number) => [0x41, value & 127];
const ADD = 0x6a;
const add = (place: number, value: number) => [...get(place), ...constant(value), ADD];
const simd = (operation: number, ...rest: readonly number[]) => [0xfd, ...encodeUnsigned(operation), ...rest];
/** Eight bytes, as numbers of 16 bits. */
const load = (offset: number) => simd(1, 0, offset);
const zero = simd(12, ...Array.from({ length: 16 }, () => 0));
const lane = (place: number) => simd(27, place);
const addLanes = simd(174);
/** Eight products of 16 bits, each two neighbours added to 32 bits. */
const products = simd(186);
const loop = (...lines: readonly number[][]) => [0x03, 0x40, ...lines.flat(), 0x0b];
const repeatIf = [0x0d, 0];
const LESS = 0x48;

function scan(): number[] {
  const eight = (offset: number) => [...get(MATRIX), ...load(offset), ...get(AT), ...load(offset), ...products];
  const lanes = [0, 1, 2, 3].flatMap((place) => [...get(SUM), ...lane(place), ...(place > 0 ? [ADD] : [])]);
  const row = loop(
    [...get(SUM), ...eight(0), ...addLanes, ...eight(8), ...addLanes, ...set(SUM)],
    [...add(AT, 16), ...set(AT), ...add(MATRIX, 16), ...tee(MATRIX), ...get(END), LESS, ...repeatIf],
  );
  const rows = loop(
    [...zero, ...set(SUM), ...get(VECTOR), ...set(AT)],
    [...get(MATRIX), ...get(COLUMNS), ADD, ...set(END)],
    row,
    [...get(OUT), ...lanes, 0x36, 2, 0],
    [...add(OUT, 4), ...set(OUT), ...add(ROWS, -1), ...tee(ROWS), ...repeatIf],
  );
  return [2, 2, I32, 1, V128, ...rows, 0x0b];
}
