import { readFile, readdir } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { TourStopped } from "./guide.js";

const WAIT_MS = 15_000;
const POLL_MS = 100;

/** The new mails that a development server without SMTP_URL writes to files. */
export class Mails {
  private readonly known = new Set<string>();

  private constructor(private readonly folder: string) {}

  static async watch(dataDir: string): Promise<Mails> {
    const mails = new Mails(join(dataDir, "mail"));
    for (const file of await mails.files()) mails.known.add(file);
    return mails;
  }

  /**
   * Waits for a mail to this address that matches the pattern.
   * @throws TourStopped when there is none after `WAIT_MS`.
   */
  async find(address: string, pattern: RegExp): Promise<{ file: string; found: string }> {
    for (const end = performance.now() + WAIT_MS; performance.now() < end; await sleep(POLL_MS)) {
      for (const file of await this.files()) {
        if (this.known.has(file)) continue;
        const [head, text] = await Promise.all([
          readFile(file.replace(/\.txt$/, ".eml"), "utf8"),
          readFile(file, "utf8"),
        ]);
        const found = pattern.exec(text)?.[1];
        if (head.includes(`To: ${address}\r\n`) && found !== undefined) return { file, found };
      }
    }
    throw new TourStopped(
      `No mail to ${address} appeared in ${this.folder} within ${WAIT_MS / 1_000} s. A development server writes its ` +
        "mails there, unless SMTP_URL is set. If it has another data folder, give that: --data-dir <folder>.",
    );
  }

  /** The text files of mails. Each is written after the mail's other file, so that one exists, too. */
  private async files(): Promise<string[]> {
    const names = await readdir(this.folder).catch(() => []);
    return names.filter((name) => name.endsWith(".txt")).map((name) => join(this.folder, name));
  }
}
