import { LIMITS } from "../limits.js";
import { storeAll } from "./batches.js";
import { RecordCount } from "./count-records.js";
import { type ExportFormat, readExport } from "./export-lines.js";
import { Refused } from "./graph-store.js";
import { ImportStopped } from "./import-stopped.js";
import { IMPORTED } from "./imported-id.js";
import type { ServiceClient } from "./service-client.js";

type Fields = Readonly<Record<string, unknown>>;
type Kind = "memory" | "relationship";

/** How many records were restored, and how many were there already. */
export interface RestoreReport {
  readonly memories: { restored: number; existing: number };
  /** `skipped`: relationships to a memory that neither the file nor the graph has. */
  readonly relationships: { restored: number; existing: number; skipped: number };
}

export const newRestoreReport = (): RestoreReport => ({
  memories: { restored: 0, existing: 0 },
  relationships: { restored: 0, existing: 0, skipped: 0 },
});

interface Restoring {
  readonly format: ExportFormat;
  readonly client: Pick<ServiceClient, "restore">;
  /** Updated during the run, so that it is correct even if the run ends early. */
  readonly report: RestoreReport;
  readonly onStart: (records: number) => void | Promise<void>;
  readonly onStep: (records: number) => void;
  /** UTF-16 units of a line. */
  readonly lengthMax?: number;
}

/** Earlier exports call a client's own id `external_id`. */
const inPresentNames = ({ external_id: clientId, ...fields }: Fields): Fields =>
  clientId === undefined ? fields : { ...fields, client_id: clientId };

/** How many records are read before they are sent. */
const READ_AT_ONCE = 500;

/** Restores an export, reading it line by line. Memories come before relationships, as in the file. */
export async function restoreFile(place: string, restoring: Restoring): Promise<void> {
  const { format, client, report, onStart, onStep, lengthMax = LIMITS.importFile.valueLength } = restoring;
  let [waiting, kind]: [Fields[], Kind] = [[], "memory"];
  const count = new RecordCount();
  const send = async () => {
    const list = kind === "memory" ? "memories" : "relationships";
    const store = async (records: readonly Fields[]) => {
      const { restored, existing } = await client
        .restore(list, records)
        .catch((error: unknown) => client.restore(list, withoutImportedIds(records, error)))
        .catch((error: unknown) => stopUnlessDangling(error, kind));
      report[list].restored += restored;
      report[list].existing += existing;
      onStep(records.length);
    };
    const skip = () => {
      report.relationships.skipped++;
      onStep(1);
    };
    await storeAll(waiting, store, skip);
    waiting = [];
  };
  for await (const line of readExport(place, format, lengthMax)) {
    count.add(line);
    if (line.kind === "start") await onStart(count.announced);
    else if (line.kind !== "end") {
      if (line.kind !== kind || waiting.length === READ_AT_ONCE) await send();
      kind = line.kind;
      waiting.push(inPresentNames(line.fields));
    }
  }
  await send();
  if (!count.isComplete)
    throw new ImportStopped(`${place} lacks some of its lines: it is not the whole export. Export again.`);
}

/**
 * Leaves out only relationships whose memories are missing. If memories were shared with a team while its graph was
 * exported, the export may have their relationships without them: the page for the memories was written before.
 * @throws ImportStopped for every other refusal.
 */
function stopUnlessDangling(error: unknown, kind: Kind): never {
  const isDangling = kind === "relationship" && error instanceof Refused && error.reason === NOT_FOUND;
  throw error instanceof Refused && !isDangling ? new ImportStopped(error.message) : error;
}

const NOT_FOUND = "not_found";

/**
 * Takes out the ids that imports have given. The graph may have such an id, if the same notes were imported into it.
 * @throws the error, if it is another one, or if no record has such an id.
 */
function withoutImportedIds(records: readonly Fields[], error: unknown): Fields[] {
  const hasImportedId = ({ client_id: id }: Fields): boolean => typeof id === "string" && id.startsWith(IMPORTED);
  if (!(error instanceof Refused && error.reason === "memory_exists" && records.some(hasImportedId))) throw error;
  return records.map((record) => (hasImportedId(record) ? { ...record, client_id: null } : record));
}

/**
 * Whether a refusal ended the run. Every refusal does, except that of a relationship without its memories: a graph that
 * lacks a record is not the same graph.
 */
export const isRefusal = (error: unknown): error is Error => error instanceof Refused || error instanceof ImportStopped;
