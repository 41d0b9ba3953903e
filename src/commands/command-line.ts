import { realpathSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { type AddHelpTextContext, Command, CommanderError } from "commander";
import { WrongUse, sentenceFor } from "./for-operator.js";

/** How every command ends; each `--help` and `docs/operations.md` tell it. */
export const EXIT = { done: 0, failed: 1, wrongUse: 2 } as const;

const EXIT_CODES =
  "Exit codes: 0 when it was done; 1 when it failed or found something wrong, with the reason on standard error;\n" +
  "2 when it was called wrongly, and nothing was done.";

/** What every command takes. With it, standard output holds one JSON value, and nothing if the command fails. */
export const JSON_OPTION = ["--json", "print one JSON value and nothing else (with npm run --silent)"] as const;

interface CommandLine {
  /** As in package.json's scripts. */
  readonly script: string;
  readonly description: string;
  /** Whole command lines, as one types them. Help about a subcommand shows only those that begin with it. */
  readonly examples: readonly string[];
  /** What else `--help` tells. */
  readonly notes?: string;
  /** Further ways to end, in the words of `EXIT_CODES`. */
  readonly exitCodes?: string;
}

/** A command line that tells its examples and exit codes, and says in one line what is wrong with what it was given. */
export function commandLine({ script, description, examples, notes, exitCodes }: CommandLine): Command {
  const call = `npm run ${script} --`;
  const program = new Command(call);
  const endings = exitCodes ? `${EXIT_CODES.replace(/\.$/, ";")}\n${exitCodes}` : EXIT_CODES;
  return program
    .description(description)
    .exitOverride()
    .configureOutput({
      outputError: (message, write) => write(`${sentenceOf(message)} ${call} --help tells how to use it.\n`),
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

/** Does what the command line asks for, if the file of this URL is what Node runs: tests import the program alone. */
export async function runCommand(program: Command, fileUrl: string): Promise<void> {
  if (realpathSync(process.argv[1] ?? "") !== fileURLToPath(fileUrl)) return;
  // Whoever reads only the beginning, such as `head`, closes the pipe.
  process.stdout.on("error", () => {});
  await obey(program, process.argv.slice(2));
}

/** Does what these words ask for. Whatever goes wrong becomes a sentence and an exit code, never a stack. */
export async function obey(program: Command, words: readonly string[]): Promise<void> {
  try {
    await program.parseAsync(words, { from: "user" });
  } catch (error) {
    // Commander has said what is wrong, or shown its help.
    if (!(error instanceof CommanderError)) console.error(sentenceFor(error));
    process.exitCode = exitCodeOf(error);
  }
}

/** How a command ends that threw this. */
export function exitCodeOf(error: unknown): number {
  if (error instanceof CommanderError) return error.exitCode === 0 ? EXIT.done : EXIT.wrongUse;
  return error instanceof WrongUse ? EXIT.wrongUse : EXIT.failed;
}
