import { spawn } from "node:child_process";
import { once } from "node:events";
import { text } from "node:stream/consumers";
import type { Command } from "commander";
import { vi } from "vitest";
import { runWith } from "../../src/commands/command-line.js";
import { environmentForProcess } from "./environment.js";

/** The result of a command. */
export interface Ran {
  readonly code: number | null;
  readonly output: string;
  readonly errors: string;
}

type Environment = Readonly<Record<string, string>>;

/** Runs a built command in production mode, as npm does. */
export async function runProcess(name: string, words: readonly string[], environment: Environment): Promise<Ran> {
  const env = { ...environmentForProcess(), NODE_ENV: "production", ...environment };
  const child = spawn(process.execPath, [`dist/commands/${name}.js`, ...words], { env });
  const [output, errors] = await Promise.all([text(child.stdout), text(child.stderr), once(child, "exit")]);
  return { code: child.exitCode, output, errors };
}

/** Runs it in this process, which saves the second that Node needs to start. One at a time: they share the output. */
export async function runHere(program: Command, words: readonly string[], environment: Environment): Promise<Ran> {
  const said = { output: "", errors: "" };
  const listeners = process.listeners("SIGINT");
  const writeOut = (part: string) => void (said.output += part);
  const writeErr = (part: string) => void (said.errors += part);
  for (const command of [program, ...program.commands]) command.configureOutput({ writeOut, writeErr });
  const env = { DATABASE_URL: undefined, REDIS_URL: undefined, NODE_ENV: "production", ...environment };
  for (const [name, value] of Object.entries(env)) vi.stubEnv(name, value);
  const spies = [
    vi.spyOn(console, "log").mockImplementation((line) => writeOut(`${String(line)}\n`)),
    vi.spyOn(process.stdout, "write").mockImplementation((part) => (writeOut(String(part)), true)),
    vi.spyOn(console, "error").mockImplementation((line) => writeErr(`${String(line)}\n`)),
    vi.spyOn(process.stderr, "write").mockImplementation((part) => (writeErr(String(part)), true)),
  ];
  try {
    await runWith(program, words);
    return { code: Number(process.exitCode ?? 0), ...said };
  } finally {
    process.exitCode = undefined;
    for (const added of process.listeners("SIGINT")) if (!listeners.includes(added)) process.off("SIGINT", added);
    vi.unstubAllEnvs();
    for (const spy of spies) spy.mockRestore();
  }
}
