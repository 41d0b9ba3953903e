/** The code of a system error or of PostgreSQL, such as ENOENT or 42P04; undefined if the error has none. */
export function codeOf(error: unknown): unknown {
  return error instanceof Error && "code" in error ? error.code : undefined;
}

/** For `catch` of a promise: ignores errors with these codes, and throws every other one. */
export function unlessCode(...codes: string[]): (error: unknown) => void {
  return (error) => {
    if (!codes.some((code) => code === codeOf(error))) throw error;
  };
}
