import { readFile, readdir } from "node:fs/promises";
import { join } from "node:path";
import { TourStopped } from "./guide.js";

const WAIT_MS = 15_000;
const POLL_MS = 100;

/** The mails that a development server without SMTP_URL writes into files, from now on. */
export class Mails {
  private readonly known = new Set<string>();

  private constructor(private readonly folder: string) {}

  static async watch(dataDir: string): Promise<Mails> {
    const mails = new Mails(join(dataDir, "mail"));
    for (const file of await mails.files()) mails.known.add(file);
    return mails;
  }

  /**
   * Waits for a mail to this address in which the pattern is found.
   * @throws TourStopped when there is none after 15 s.
   */
  async find(address: string, pattern: RegExp): Promise<{ file: string; found: string }> {
    for (const end = Date.now() + WAIT_MS; Date.now() < end; await new Promise((done) => setTimeout(done, POLL_MS))) {
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
      `No mail to ${address} came into ${this.folder} within ${WAIT_MS / 1_000} s. A server in development writes its ` +
        "mails there, unless SMTP_URL is set. If its data folder is another one, say which: --data-dir <folder>.",
    );
  }

  /** A mail's text is written last, so the other file is there. */
  private async files(): Promise<string[]> {
    const names = await readdir(this.folder).catch(() => []);
    return names.filter((name) => name.endsWith(".txt")).map((name) => join(this.folder, name));
  }
}
