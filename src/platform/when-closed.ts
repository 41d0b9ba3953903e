import { setTimeout as sleep } from "node:timers/promises";
import { codeOf } from "./error-code.js";

const TRIED_MS = 5_000;
const POLL_MS = 50;

/**
 * Whether a file, or a file in a folder, could not be renamed or replaced since a program may have it open: on Windows
 * virus scanners and indexers open what was just written. Elsewhere this prevents nothing, and these errors are final.
 */
export const mayBeOpen = (error: unknown): boolean =>
  process.platform === "win32" && ["EPERM", "EACCES", "EBUSY"].includes(String(codeOf(error)));

/** Changes a file, again and again while another program may have it open, for a limited time. */
export async function whenClosed(change: () => Promise<void>): Promise<void> {
  const deadline = performance.now() + TRIED_MS;
  for (;;) {
    try {
      return await change();
    } catch (error) {
      if (!mayBeOpen(error) || performance.now() > deadline) throw error;
    }
    await sleep(POLL_MS);
  }
}
