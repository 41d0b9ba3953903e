import { program } from "../../src/commands/doctor.js";
import { runHere } from "./commands.js";

interface Finding {
  readonly part: string;
  readonly state: string;
  readonly says: string;
}

/** What the doctor finds in an environment, by part. */
export async function examine(environment: Record<string, string>) {
  const { code, output, errors } = await runHere(program, ["--json"], environment);
  const { findings } = JSON.parse(output) as { findings: readonly Finding[] };
  return { code, errors, by: new Map(findings.map((finding) => [finding.part, finding])) };
}
