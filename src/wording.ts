/** "1 memory", "2 memories". */
export const countInWords = (count: number, one: string, many: string): string =>
  `${count} ${count === 1 ? one : many}`;

/** A time rounded down to the minute. */
export const minuteOf = (time: Date): string => `${time.toISOString().slice(0, 16).replace("T", " ")} UTC`;
