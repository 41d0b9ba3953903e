import { codeOf } from "../error-code.js";
import { StartError } from "../start-error.js";

/** The embedded PostgreSQL cannot be started. The message says what to do. */
export class CannotStart extends StartError {}

export const CANNOT_RUN =
  "This system cannot run the embedded PostgreSQL, which needs glibc; Alpine Linux, for example, has musl instead, and " +
  "NixOS has glibc elsewhere (programs.nix-ld.enable helps): use a system or image with glibc, such as Debian's, or " +
  "set DATABASE_URL to a PostgreSQL of your own.";

/** Where the error happened. */
interface Place {
  /** The data folder. */
  readonly dataDir: string;
  /** What PostgreSQL's programs have written to their log since the start. */
  readonly said: string;
  /** Whether its disk has no room for PostgreSQL: then there is none for that log, either. */
  readonly isFull?: boolean;
  /** The system. */
  readonly platform?: string;
}

/** Turns any error into one sentence that says what to do, or, if none fits, into a general one with a hint. */
export function explain(
  cause: unknown,
  { dataDir, said, isFull = false, platform = process.platform }: Place,
): CannotStart {
  if (cause instanceof CannotStart) return cause;
  const code = String(codeOf(cause));
  const text = `${String(cause)}\n${said}`;
  const found = REASONS.filter(({ only = platform }) => only === platform).find(
    ({ codes, pattern }) => codes?.includes(code) || pattern?.test(text),
  );
  if (found) return new CannotStart(found.sentence(dataDir), { cause });
  if (isFull) return new CannotStart(diskIsFull(dataDir), { cause });
  const last = said.match(/^.*\b(?:PANIC|FATAL|error): .*$/gim)?.at(-1);
  const reason = (last?.replace(/^.*?(?:PANIC|FATAL|error): +/i, "") ?? messageOf(cause)).replace(/\.?\s*$/, "");
  return new CannotStart(
    `The embedded PostgreSQL in ${dataDir} did not start: ${reason}.\n` +
      `Its log is ${dataDir}/postgres.log. Set DATABASE_URL to use a PostgreSQL of your own.`,
    { cause },
  );
}

const messageOf = (cause: unknown): string => (cause instanceof Error ? cause.message : String(cause));

interface Reason {
  /** The only system that has this reason. */
  readonly only?: string;
  /** Codes of system errors, or of PostgreSQL. */
  readonly codes?: readonly string[];
  /** Matches the output of PostgreSQL's programs. */
  readonly pattern?: RegExp;
  sentence(dataDir: string): string;
}

const diskIsFull = (dataDir: string): string =>
  `The disk of the data folder ${dataDir} is full: free some space, or set DATA_DIR to a folder on another disk.`;

/** The first match is used. */
const REASONS: readonly Reason[] = [
  {
    // How Windows says that a library is missing, or that a program has failed in one: the program which this service
    // has started, or one that initdb has started.
    only: "win32",
    pattern: /ended with (?:3221225781|3221225477)\b|terminated by exception 0xC0000(?:135|005)\b/,
    sentence: () =>
      "The embedded PostgreSQL needs a current Microsoft Visual C++ Redistributable: install it from " +
      "https://aka.ms/vs/17/release/vc_redist.x64.exe, then start again.",
  },
  {
    // Windows gives PostgreSQL the path of its own files in the system's code page, and the database wants UTF-8.
    only: "win32",
    pattern: /invalid byte sequence for encoding "UTF8"/,
    sentence: () =>
      "The path of this project has letters beyond ASCII, which the embedded PostgreSQL cannot use on Windows: move " +
      "the project to another folder, or set DATABASE_URL to a PostgreSQL of your own.",
  },
  {
    // What the place of the loader says on NixOS, and another C library's loader of a program for glibc.
    only: "linux",
    pattern: /dynamically linked executable|Error relocating/,
    sentence: () => CANNOT_RUN,
  },
  {
    codes: ["ENOMEM", "EAGAIN", "53200"],
    pattern: /shared memory segment|Cannot allocate memory|could not fork|Resource temporarily unavailable/,
    sentence: () =>
      "The system has not enough memory or processes for the embedded PostgreSQL: free some, or raise the limit, then start again.",
  },
  {
    codes: ["ENOSPC", "EDQUOT", "53100"],
    pattern: /No space left on device|Disk quota exceeded|Check free disk space/,
    sentence: diskIsFull,
  },
  {
    codes: ["EMFILE", "ENFILE"],
    pattern: /Too many open files|insufficient file descriptors/,
    sentence: () =>
      "The embedded PostgreSQL cannot open enough files: raise the limit of open files (`ulimit -n 1024`), then start again.",
  },
  {
    codes: ["ENOENT", "ENXIO", "ELOOP", "EINVAL"],
    sentence: (dataDir) => `The data folder ${dataDir} cannot be created: set DATA_DIR to another folder.`,
  },
  {
    codes: ["EROFS"],
    pattern: /Read-only file system/,
    sentence: (dataDir) =>
      `The data folder ${dataDir} is on a read-only disk: set DATA_DIR to a folder that can be written.`,
  },
  {
    codes: ["EEXIST", "ENOTDIR"],
    sentence: (dataDir) => `The data folder ${dataDir}, or a part of its path, is a file: set DATA_DIR to a folder.`,
  },
  {
    codes: ["ENOTEMPTY", "EBUSY"],
    sentence: (dataDir) =>
      `The folder ${dataDir}/postgres is there with other files, or is the root of a disk: set DATA_DIR to another ` +
      "folder, in which the service creates its own.",
  },
  {
    codes: ["ENAMETOOLONG"],
    sentence: () => "The name of the data folder is too long: set DATA_DIR to a folder with a shorter one.",
  },
  {
    codes: ["EACCES", "EPERM"],
    pattern: /Permission denied|Operation not permitted|has wrong ownership/,
    sentence: (dataDir) =>
      `This user may not read and write all of the data folder ${dataDir}: ` +
      "start as the user who owns it, or set DATA_DIR to another folder.",
  },
  {
    pattern: /PANIC|checkpoint record|pg_control|required WAL directory|could not find the database system/,
    sentence: (dataDir) =>
      `The database in ${dataDir} is damaged: restore a backup of the whole folder, or set DATA_DIR to another folder.`,
  },
  {
    codes: ["28P01", "28000"],
    sentence: (dataDir) =>
      `The passwords in ${dataDir} do not belong to the database there: restore a backup of the whole folder.`,
  },
];
