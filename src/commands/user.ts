import "reflect-metadata";
import { Command, InvalidArgumentError, Option } from "commander";
import { UserError, createKeyFor, createUser } from "../features/access/index.js";
import {
  type ShownUser,
  deleteUserOf,
  renameUser,
  revokeKeysOf,
  setPlan,
  showUser,
  suspendUser,
  unsuspendUser,
  verifyUser,
} from "../features/accounts/index.js";
import type { Services } from "../operation/context.js";
import { forOperator } from "./for-operator.js";
import { withServices } from "./with-database.js";

type Plan = "free" | "pro";
interface Common {
  readonly email: string;
  readonly json: boolean;
}
type Made = Awaited<ReturnType<typeof createUser>>;

const NAME_MAX = 100;

const program = new Command("npm run user --")
  .description("Makes users and looks after them and their API keys, beside a running server or without.")
  .addHelpText(
    "after",
    `
What is changed counts from the user's next request on. Each command takes --json, and then prints one JSON value and
nothing else (npm run --silent user -- …). Exit codes: 0 when it was done, 1 when not, with the reason on standard error.

Examples:
  npm run user -- create --email ann@example.com --verified
  npm run user -- key --email ann@example.com            another key, for who lost theirs
  npm run user -- plan --email ann@example.com --plan pro
  npm run user -- suspend --email ann@example.com        keys answer 403 account_suspended; nothing is lost
  npm run user -- delete --email ann@example.com --yes   for good; what they stored for a team stays with the team`,
  );

/** A command about one user, with the options that all of them have. */
const command = (name: string, description: string): Command =>
  program
    .command(name)
    .description(description)
    .requiredOption("--email <address>", "the user's e-mail address")
    .option("--json", "print one JSON value and nothing else", false);

const planOption = () => new Option("--plan <plan>", "what the user has paid for").choices(["free", "pro"]);

command("create", "make a user and print a first API key")
  .option("--name <name>", "the user's name", nameOf)
  .addOption(planOption().default("free"))
  .option("--verified", "take the address as verified", false)
  .action(async (options: Common & { name?: string; plan: Plan; verified: boolean }) => {
    const made = await withServices((services) => createUser(services, options));
    printKey(made, options, `Made the user ${made.email}, plan ${options.plan}.`);
  });

command("key", "print another API key for a user who lost theirs")
  .option("--name <name>", "what to call the key", "Made by an operator")
  .action(async (options: Common & { name: string }) => {
    const made = await withServices((services) => createKeyFor(services, options.email, options.name));
    printKey(made, options, `Made another key for ${made.email}.`);
  });

command("show", "print what is known of a user, and how much they have stored").action(async (options: Common) => {
  const user = await withServices((services) => showUser(services, options.email));
  console.log(options.json ? JSON.stringify(plain(user)) : described(user));
});

command("plan", "change what the user has paid for")
  .addOption(planOption().makeOptionMandatory())
  .action((options: Common & { plan: Plan }) =>
    change(options, `Plan ${options.plan}`, (services) => setPlan(services, options.email, options.plan)),
  );

command("rename", "change the user's name, or take it away")
  .option("--name <name>", "the name; none takes it away", nameOf)
  .action((options: Common & { name?: string }) =>
    change(options, "Renamed", (services) => renameUser(services, options.email, options.name ?? null)),
  );

command("verify", "take the user's address as verified").action((options: Common) =>
  change(options, "Verified", (services) => verifyUser(services, options.email)),
);

command(
  "suspend",
  "refuse all of a user's keys and sign-ups until unsuspended, and take back their open invitations",
).action((options: Common) => change(options, "Suspended", (services) => suspendUser(services, options.email)));

command("unsuspend", "let a suspended user's keys work again").action((options: Common) =>
  change(options, "No longer suspended", (services) => unsuspendUser(services, options.email)),
);

command("revoke-keys", "end all of a user's keys for good").action(async ({ email, json }: Common) => {
  const ended = await withServices((services) => revokeKeysOf(services, email));
  console.log(json ? JSON.stringify(ended) : `Keys of ${ended.email} that ended: ${ended.revoked}.`);
});

command("delete", "delete a user for good, with their own graph; what they stored for a team stays with it")
  .option("--yes", "do it; without, nothing is deleted", false)
  .action(async ({ email, json, yes }: Common & { yes: boolean }) => {
    const user = await withServices(async (services) => {
      const { memories } = await showUser(services, email);
      if (yes) return deleteUserOf(services, email);
      throw new UserError(
        `This deletes ${email} with ${memories} memories for good. Say so: npm run user -- delete --email ${email} --yes`,
      );
    });
    console.log(json ? JSON.stringify({ user_id: user.id, deleted: true }) : `Deleted the user ${user.email}.`);
  });

/** Does what a command is for, and tells what the user is like after it. */
async function change({ email, json }: Common, done: string, work: (services: Services) => Promise<unknown>) {
  const user = await withServices(async (services) => {
    await work(services);
    return showUser(services, email);
  });
  console.log(json ? JSON.stringify(plain(user)) : `${done}: ${user.email}.`);
}

function nameOf(text: string): string {
  const name = text.trim();
  if (name === "" || name.length > NAME_MAX)
    throw new InvalidArgumentError(`It must have 1 to ${NAME_MAX} characters.`);
  return name;
}

function printKey({ userId, email, apiKey }: Made, { json }: Common, sentence: string): void {
  if (json) console.log(JSON.stringify({ user_id: userId, email, key: apiKey.key }));
  else console.log(`${sentence}\n\n  User  ${userId}\n  Key   ${apiKey.key}   (shown only now)\n`);
}

const plain = ({ id, email, name, plan, keys, team, memories, bytes, ...times }: ShownUser) => ({
  ...{ user_id: id, email, name, plan, keys, team, memories, bytes },
  email_verified_at: times.emailVerifiedAt,
  suspended_at: times.suspendedAt,
  created_at: times.createdAt,
});

const described = (user: ShownUser): string =>
  Object.entries({
    User: user.id,
    Address: `${user.email}, ${user.emailVerifiedAt ? "verified" : "not verified"}`,
    Name: user.name ?? "none",
    Plan: user.plan,
    Since: user.createdAt.toISOString(),
    ...(user.suspendedAt ? { Suspended: `since ${user.suspendedAt.toISOString()}` } : {}),
    Keys: String(user.keys),
    Team: user.team ? `${user.team.name} (${user.team.role}), ${user.team.id}` : "none",
    "Own graph": `${user.memories} memories, ${user.bytes} bytes`,
  })
    .map(([name, value]) => `${name.padEnd(10)} ${value}`)
    .join("\n");

try {
  await program.parseAsync();
} catch (error) {
  console.error(forOperator(error));
  process.exitCode = 1;
}
