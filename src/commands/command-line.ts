import { realpathSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { type AddHelpTextContext, Command, CommanderError, InvalidArgumentError } from "commander";
import { WrongUse, sentenceFor } from "./for-operator.js";

/** The exit codes of every command, documented in each `--help` and in `docs/operations.md`. */
export const EXIT = { done: 0, failed: 1, wrongUse: 2 } as const;

const EXIT_CODES =
  "Exit codes: 0 when it was done; 1 when it failed or found something wrong, with the reason on standard error;\n" +
  "2 when it was called wrongly, and nothing was done.";

/** An option of most commands. With it, standard output is one JSON value, or empty if the command fails. */
export const JSON_OPTION = ["--json", "print one JSON value and nothing else (with npm run --silent)"] as const;

/** Reads how many items to show. */
export const countUpTo =
  (most: number) =>
  (text: string): number => {
    const count = Number(text);
    if (Number.isInteger(count) && count >= 1 && count <= most) return count;
    throw new InvalidArgumentError(`It is not a whole number from 1 to ${most}.`);
  };

interface CommandLine {
  /** The name in package.json's scripts. */
  readonly script: string;
  readonly description: string;
  /** Complete command lines. The help of a subcommand shows only its own. */
  readonly examples: readonly string[];
  /** Further text for `--help`. */
  readonly notes?: string;
  /** Further exit codes, in the format of `EXIT_CODES`. */
  readonly exitCodes?: string;
}

/** Makes a command line whose help shows examples and exit codes, and which reports wrong arguments in one line. */
export function commandLine({ script, description, examples, notes, exitCodes }: CommandLine): Command {
  const call = `npm run ${script} --`;
  const program = new Command(call);
  const endings = exitCodes ? `${EXIT_CODES.replace(/\.$/, ";")}\n${exitCodes}` : EXIT_CODES;
  // It often comes from a shell variable that is not set. No file, id or address is empty.
  const refuseEmpty = (_program: Command, called: Command) => {
    if (called.args.includes("")) called.error("An argument is empty.");
  };
  return program
    .description(description)
    .exitOverride()
    .hook("preAction", refuseEmpty)
    .configureOutput({
      outputError: (message, write) => write(`${sentenceOf(message)} ${call} --help shows how to use it.\n`),
    })
    .addHelpText("afterAll", ({ command }: AddHelpTextContext) => {
      const shown = examples.filter((line) => command === program || line.startsWith(`${call} ${command.name()}`));
      return [...(notes ? ["", notes] : []), "", "Examples:", ...shown.map((line) => `  ${line}`), "", endings].join(
        "\n",
      );
    });
}

/** Commander's message as one sentence: without the word "error" and without line breaks. */
function sentenceOf(message: string): string {
  const text = message
    .replace(/^error: /, "")
    .trim()
    .replaceAll(/\s*\n\s*/g, " ")
    .replace(/ \((Did you mean .*\?)\)$/, ". $1");
  return `${text.charAt(0).toUpperCase()}${text.slice(1)}${/[.?]$/.test(text) ? "" : "."}`;
}

/** Runs the command line, but only if Node runs this file: tests import the program without running it. */
export async function runCommand(program: Command, fileUrl: string): Promise<void> {
  if (realpathSync(process.argv[1] ?? "") !== fileURLToPath(fileUrl)) return;
  await runProcess(program, process.argv.slice(2));
}

/** Runs the program as the only work of this process: a closed pipe neither ends it nor prints a stack trace. */
export async function runProcess(program: Command, args: readonly string[]): Promise<void> {
  process.stdout.on("error", (error: NodeJS.ErrnoException) => {
    // A reader such as `head` closes the pipe early. Anything else loses the result, such as a new key on a full disk.
    if (error.code === "EPIPE") return;
    console.error(sentenceFor(error));
    process.exitCode = EXIT.failed;
  });
  // A reader of the progress that goes away must not end the work, as in `npm run import 2>&1 | head`.
  process.stderr.on("error", () => {});
  await runWith(program, args);
}

/** Runs the program with these arguments. Errors become a sentence and an exit code, never a stack trace. */
export async function runWith(program: Command, args: readonly string[]): Promise<void> {
  try {
    await program.parseAsync(args, { from: "user" });
  } catch (error) {
    // Commander has already printed its error or its help.
    if (!(error instanceof CommanderError)) console.error(sentenceFor(error));
    process.exitCode = exitCodeOf(error);
  }
}

/** The exit code of a command that threw this error. */
export function exitCodeOf(error: unknown): number {
  if (error instanceof CommanderError) return error.exitCode === 0 ? EXIT.done : EXIT.wrongUse;
  return error instanceof WrongUse ? EXIT.wrongUse : EXIT.failed;
}
