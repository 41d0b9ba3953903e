import { LIMITS } from "../limits.js";
import { storeAll } from "./batches.js";
import { RecordCount } from "./count-records.js";
import { type ExportFormat, readExport } from "./export-lines.js";
import { Refused } from "./graph-store.js";
import { ImportStopped, UnfitExport } from "./import-stopped.js";
import { IMPORTED } from "./imported-id.js";
import type { ServiceClient } from "./service-client.js";
import type { JsonObject } from "./text.js";

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
  readonly client: Pick<ServiceClient, "restore" | "memories">;
  /** Updated during the run, so that it is correct even if the run ends early. */
  readonly report: RestoreReport;
  readonly onStart: (records: number) => void | Promise<void>;
  readonly onStep: (records: number) => void;
  /** UTF-16 units of a line. */
  readonly lengthMax?: number;
}

/** Earlier exports call a client's own id `external_id`. */
const inPresentNames = ({ external_id: clientId, ...fields }: JsonObject): JsonObject =>
  clientId === undefined ? fields : { ...fields, client_id: clientId };

/** How many records are read before they are sent. */
const READ_AT_ONCE = 500;

/** Restores an export, reading it line by line. Memories come before relationships, as in the file. */
export async function restoreFile(place: string, restoring: Restoring): Promise<void> {
  const { format, client, report, onStart, onStep, lengthMax = LIMITS.importFile.valueLength } = restoring;
  let [waiting, kind]: [JsonObject[], Kind] = [[], "memory"];
  const count = new RecordCount();
  /** The ids of earlier imports into the graph, once a call was refused because of one. */
  let taken: ReadonlySet<string> = new Set();
  const restoreUntaken = async (records: readonly JsonObject[]) => {
    for (;;) {
      const sent = withoutIds(records, taken);
      try {
        return await client.restore("memories", sent);
      } catch (error) {
        if (!isIdTaken(error, sent)) throw error;
        taken = await readImportedIds(client);
        // Another id is taken, which no import gave.
        if (!sent.some((one) => taken.has(importedIdOf(one) ?? ""))) throw error;
      }
    }
  };
  const send = async () => {
    const list = kind === "memory" ? "memories" : "relationships";
    const store = async (records: readonly JsonObject[]) => {
      const { restored, existing } = await (
        kind === "memory" ? restoreUntaken(records) : client.restore(list, records)
      ).catch((error: unknown) => stopUnlessDangling(error, kind));
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
    if (line.kind === "start") {
      // The next export may have the same memories, of which a call may have each once.
      await send();
      await onStart(count.announced);
    } else if (line.kind !== "end") {
      if (line.kind !== kind || waiting.length === READ_AT_ONCE) await send();
      kind = line.kind;
      waiting.push(inPresentNames(line.fields));
    }
  }
  await send();
  if (!count.isComplete)
    throw new UnfitExport(`${place} lacks some of its lines: it is not the whole export. Export again.`);
}

/**
 * Leaves out only relationships whose memories are missing. If memories were shared with a team while its graph was
 * exported, the export may have their relationships without them: the page for the memories was written before.
 * @throws ImportStopped for every other refusal.
 */
function stopUnlessDangling(error: unknown, kind: Kind): never {
  const isDangling = kind === "relationship" && error instanceof Refused && error.reason === "not_found";
  throw error instanceof Refused && !isDangling ? new ImportStopped(error.message) : error;
}

const importedIdOf = ({ client_id: id }: JsonObject): string | undefined =>
  typeof id === "string" && id.startsWith(IMPORTED) ? id : undefined;

/** Whether records were refused because the graph may have an id that an import gave to one of them. */
const isIdTaken = (error: unknown, records: readonly JsonObject[]): boolean =>
  error instanceof Refused &&
  error.reason === "memory_exists" &&
  records.some((one) => importedIdOf(one) !== undefined);

/** Takes out the ids that the graph has, as after an import of the same notes: all records shall be restored. */
const withoutIds = (records: readonly JsonObject[], taken: ReadonlySet<string>): JsonObject[] =>
  records.map((record) => (taken.has(importedIdOf(record) ?? "") ? { ...record, client_id: null } : record));

/** The ids that imports gave to memories of the graph. */
async function readImportedIds(client: Restoring["client"]): Promise<ReadonlySet<string>> {
  const ids = new Set<string>();
  for await (const { client_id: id } of client.memories(undefined)) if (id?.startsWith(IMPORTED)) ids.add(id);
  return ids;
}
