/**
 * How many files and connections this process may have open at a time; Infinity where the system sets no limit. Node
 * has raised the limit of `ulimit -Sn` to that of `ulimit -Hn` at its start.
 */
export function openFilesMax(): number {
  // Otherwise the report looks up the names of all peers.
  Object.assign(process.report, { excludeNetwork: true });
  const { userLimits } = process.report.getReport() as { readonly userLimits?: UserLimits };
  const most = userLimits?.open_files.soft;
  return typeof most === "number" ? most : Infinity;
}

/** Windows has none. */
interface UserLimits {
  readonly open_files: { readonly soft: number | "unlimited" };
}
