import "reflect-metadata";
import { Command, Option } from "commander";
import { createKeyFor, createUser } from "../features/access/index.js";
import { forOperator } from "./for-operator.js";
import { withServices } from "./with-database.js";

type Made = Awaited<ReturnType<typeof createUser>>;

const program = new Command("user").description("Makes users and their API keys, beside a running server or without.");

program
  .command("create")
  .description("make a user and print a first API key")
  .requiredOption("--email <address>", "the user's e-mail address")
  .option("--name <name>", "the user's name")
  .addOption(new Option("--plan <plan>", "what the user has paid for").choices(["free", "pro"]).default("free"))
  .option("--verified", "take the address as verified", false)
  .option("--json", "print one JSON value and nothing else", false)
  .action(async (options: { email: string; name?: string; plan: "free" | "pro"; verified: boolean; json: boolean }) => {
    const made = await withServices((services) => createUser(services, options));
    print(made, options, `Made the user ${made.email}, plan ${options.plan}.`);
  });

program
  .command("key")
  .description("print another API key for a user who lost theirs")
  .requiredOption("--email <address>", "the user's e-mail address")
  .option("--name <name>", "what to call the key", "Made by an operator")
  .option("--json", "print one JSON value and nothing else", false)
  .action(async (options: { email: string; name: string; json: boolean }) => {
    const made = await withServices((services) => createKeyFor(services, options.email, options.name));
    print(made, options, `Made another key for ${made.email}.`);
  });

function print({ userId, email, apiKey }: Made, { json }: { json: boolean }, sentence: string): void {
  if (json) console.log(JSON.stringify({ user_id: userId, email, key: apiKey.key }));
  else console.log(`${sentence}\n\n  User  ${userId}\n  Key   ${apiKey.key}   (shown only now)\n`);
}

try {
  await program.parseAsync();
} catch (error) {
  console.error(forOperator(error));
  process.exitCode = 1;
}
