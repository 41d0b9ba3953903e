import "reflect-metadata";
import { type Command, InvalidArgumentError, Option } from "commander";
import { createKeyFor, createUser, normalEmail } from "../features/access/index.js";
import {
  type ShownUser,
  deleteUserOf,
  forgetAddress,
  moveUserTo,
  renameUser,
  revokeKeysOf,
  setPlan,
  showUser,
  suspendUser,
  unsuspendUser,
  verifyUser,
} from "../features/accounts/index.js";
import { UpdateAccountInput } from "../features/accounts/update-account.js";
import type { Services } from "../operation/context.js";
import { UUID } from "../operation/id.js";
import { InvalidInput } from "../operation/failure.js";
import { withinBounds } from "../operation/within-bounds.js";
import { Plan } from "../platform/prisma/client.js";
import { EXIT, JSON_OPTION, commandLine, runCommand } from "./command-line.js";
import { WrongUse } from "./for-operator.js";
import { inSnakeCase } from "./in-snake-case.js";
import { listOf, tableOf } from "./table.js";
import { countInWords, minuteOf } from "../wording.js";
import { withServices } from "./with-database.js";

interface Common {
  readonly email?: string;
  readonly id?: string;
  readonly json?: true;
}
type Made = Awaited<ReturnType<typeof createUser>>;

const YES_OPTION = ["--yes", "confirm; without it nothing is done"] as const;

export const program = commandLine({
  script: "user",
  description: "Creates and manages users and their API keys, with or without a running server.",
  notes: "Changes take effect with the user's next request.",
  examples: [
    "npm run user -- create --email ann@example.com --verified",
    "npm run --silent user -- create --email ann@example.com --json",
    "npm run user -- key --email ann@example.com            another key, if the old one is lost",
    "npm run user -- show --email ann@example.com",
    "npm run user -- show --id 01a2153d-6aaf-7486-934f-d265b2cd0079",
    "npm run user -- plan --email ann@example.com --plan pro",
    "npm run user -- rename --email ann@example.com --name Ann",
    "npm run user -- verify --email ann@example.com",
    "npm run user -- change-email --email thief@example.com --to ann@example.com",
    "npm run user -- suspend --email ann@example.com        keys get 403 account_suspended; no data is deleted",
    "npm run user -- unsuspend --email ann@example.com",
    "npm run user -- revoke-keys --email ann@example.com --yes",
    "npm run user -- revoke-keys --email ann@example.com --key 01a2153e-6aaf-7486-934f-d265b2cd0079 --yes",
    "npm run user -- delete --email ann@example.com --yes   permanent; memories in a team's graph stay there",
    "npm run user -- forget --email ann@example.com --yes   for somebody who was invited, and has no account",
  ],
});

/** A command about one user, with the options that all of them have. */
const command = (name: string, description: string): Command =>
  program
    .command(name)
    .description(description)
    .option("--email <address>", "the user's e-mail address", emailOf)
    .addOption(new Option("--id <id>", "or the user's id, as in the log").argParser(idOf).conflicts("email"))
    .option(...JSON_OPTION);

const planOption = () => new Option("--plan <plan>", "what the user has paid for").choices(Object.values(Plan));

program
  .command("create")
  .description("create a user and print a first API key")
  .requiredOption("--email <address>", "the user's e-mail address", emailOf)
  .option("--name <name>", "the user's name", nameOf)
  .addOption(planOption().default("free"))
  .option("--verified", "mark the address as verified")
  .option(...JSON_OPTION)
  .action(async (options: { email: string; name?: string; plan: Plan; verified?: true; json?: true }) => {
    const made = await withServices((services) => createUser(services, { verified: false, ...options }));
    printKey(made, options, `Created the user ${made.email}, plan ${options.plan}.`);
  });

command("key", "create another API key for a user and print it")
  .option("--name <name>", "the name of the key", nameOf, "Made by an operator")
  .action(async (options: Common & { name: string }) => {
    const which = whichOf(options);
    const made = await withServices((services) => createKeyFor(services, which, options.name));
    printKey(made, options, `Created another key for ${made.email}.`);
  });

command(
  "show",
  "print who a user is: keys without their secrets, last use, team, how much is stored, mails that wait",
).action(async (options: Common) => {
  const which = whichOf(options);
  const user = await withServices((services) => showUser(services, which));
  console.log(options.json ? JSON.stringify(userToJson(user)) : describeUser(user));
});

command("plan", "change what the user has paid for")
  .addOption(planOption().makeOptionMandatory())
  .action((options: Common & { plan: Plan }) =>
    change(options, `Plan ${options.plan}`, (services, which) => setPlan(services, which, options.plan)),
  );

command("rename", "change or remove the user's name")
  .option("--name <name>", "the new name; without it the name is removed", nameOf)
  .action((options: Common & { name?: string }) =>
    change(options, "Renamed", (services, which) => renameUser(services, which, options.name ?? null)),
  );

command("verify", "mark the user's address as verified").action((options: Common) =>
  change(options, "Verified", verifyUser),
);

command("change-email", "give a user another address, marked as verified; keys, memories and the team stay")
  .requiredOption("--to <address>", "the new address", emailOf)
  .action((options: Common & { to: string }) =>
    change(options, "Changed", (services, which) => moveUserTo(services, which, options.to)),
  );

command(
  "suspend",
  "refuse all of a user's keys and sign-ups until unsuspended, and revoke their open invitations",
).action((options: Common) => change(options, "Suspended", suspendUser));

command("unsuspend", "let a suspended user's keys work again").action((options: Common) =>
  change(options, "No longer suspended", unsuspendUser),
);

command("revoke-keys", "revoke all of a user's keys permanently, or one of them")
  .option("--key <id>", "only the key with this id, as in the log, and those that it made", idOf)
  .option(...YES_OPTION)
  .action(async ({ json, yes, key, ...options }: Common & { yes?: true; key?: string }) => {
    const which = whichOf(options);
    const ended = await withServices(async (services) => {
      if (yes) return revokeKeysOf(services, which, key);
      const { keys, email } = await showUser(services, which);
      const what = key ? `the key ${key}, and those that it made,` : countInWords(keys, "key", "keys");
      throw askToConfirm(`This would revoke ${what} of ${email} permanently.`);
    });
    console.log(json ? JSON.stringify(ended) : `Revoked keys of ${ended.email}: ${ended.revoked}.`);
  });

command("delete", "delete a user and their own graph permanently; memories in a team's graph stay there")
  .option(...YES_OPTION)
  .action(async ({ json, yes, ...options }: Common & { yes?: true }) => {
    const which = whichOf(options);
    const user = await withServices(async (services) => {
      const { memories, email } = await showUser(services, which);
      if (yes) return deleteUserOf(services, which);
      throw askToConfirm(
        `This would delete ${email} with ${countInWords(memories, "memory", "memories")} permanently.`,
      );
    });
    console.log(json ? JSON.stringify({ user_id: user.id, deleted: true }) : `Deleted the user ${user.email}.`);
  });

program
  .command("forget")
  .description("forget an address that is no user's: invitations to it, codes, and the address in the audit")
  .requiredOption("--email <address>", "the address", emailOf)
  .option(...YES_OPTION)
  .option(...JSON_OPTION)
  .action(async ({ email, json, yes }: { email: string; json?: true; yes?: true }) => {
    if (!yes) throw askToConfirm(`This would delete the invitations to ${email}, and the address in the audit.`);
    const { invitations, earlierOf } = await withServices((services) => forgetAddress(services, email));
    const kept = earlierOf.map(
      (id) => `\nIt was the address of the user ${id}, whose audit keeps it until it is deleted.`,
    );
    const result = { email, forgotten: true, invitations, earlier_address_of: earlierOf };
    const text = `Forgot ${email}. Invitations deleted: ${invitations}.${kept.join("")}`;
    console.log(json ? JSON.stringify(result) : text);
  });

function askToConfirm(consequence: string): WrongUse {
  return new WrongUse(`Nothing was done. ${consequence} Add --yes to confirm.`);
}

/** The address or the id of the user. */
function whichOf({ email, id }: Common): string {
  const which = email ?? id;
  if (which === undefined) throw new WrongUse("Nothing was done. Add --email or --id.");
  return which;
}

/** Changes a user, and prints the user's data after the change. */
async function change(
  options: Common,
  done: string,
  work: (services: Services, which: string) => Promise<{ readonly id: string }>,
) {
  const which = whichOf(options);
  const user = await withServices(async (services) => {
    const { id } = await work(services, which);
    return showUser(services, id);
  });
  console.log(options.json ? JSON.stringify(userToJson(user)) : `${done}: ${user.email}.`);
}

function emailOf(text: string): string {
  if (normalEmail(text) === null) throw new InvalidArgumentError("It is not an e-mail address.");
  return text;
}

function idOf(text: string): string {
  if (!UUID.test(text)) throw new InvalidArgumentError("It is not an id.");
  return text;
}

/** By the rule for users who change their names themselves. */
function nameOf(text: string): string {
  const name = text.trim();
  try {
    return withinBounds(Object.assign(new UpdateAccountInput(), { name })).name;
  } catch (error) {
    if (error instanceof InvalidInput) throw new InvalidArgumentError(`It ${error.details[0]?.message}.`);
    throw error;
  }
}

function printKey({ userId, email, apiKey }: Made, { json }: Common, sentence: string): void {
  const text = json
    ? JSON.stringify({ user_id: userId, email, key: apiKey.key })
    : `${sentence}\n\n  User  ${userId}\n  Key   ${apiKey.key}   (shown only now)\n`;
  process.stdout.write(`${text}\n`, (error) => {
    if (!error) return;
    console.error(`The key of ${email} could not be printed: \`npm run user -- key\` creates another one.`);
    process.exitCode = EXIT.failed;
  });
}

const userToJson = ({ id, email, name, plan, keys, team, memories, bytes, ...others }: ShownUser) => {
  const { activeKeys, mails, mailsTotal, lastUsedAt, emailVerifiedAt, suspendedAt, createdAt } = others;
  return inSnakeCase({
    userId: id,
    email,
    name,
    plan,
    keys,
    team,
    memories,
    bytes,
    activeKeys,
    mails,
    mailsTotal,
    lastUsedAt,
    emailVerifiedAt,
    suspendedAt,
    createdAt,
  });
};

const whenOf = (time: Date | null): string => (time ? minuteOf(time) : "never");

function describeUser(user: ShownUser): string {
  const keys = user.activeKeys.map(({ id, prefix, name, client, lastUsedAt, expiresAt }) => {
    return [prefix, client ?? name, whenOf(lastUsedAt), whenOf(expiresAt), id];
  });
  const mails = user.mails.map(({ kind, createdAt, attempts, lastError }) => {
    return [kind, minuteOf(createdAt), String(attempts), lastError ?? ""];
  });
  const left = user.mailsTotal - user.mails.length;
  return [
    describeAccount(user),
    ...(keys.length > 0 ? [tableOf(["KEY", "NAME", "LAST USED", "EXPIRES", "ID"], keys)] : []),
    ...(mails.length > 0 ? [tableOf(["MAIL", "SINCE", "ATTEMPTS", "LAST ERROR"], mails)] : []),
    ...(left > 0 ? [`${left} more mails wait: \`npm run mail -- list\` lists those of everybody.`] : []),
  ].join("\n\n");
}

const describeAccount = (user: ShownUser): string =>
  listOf({
    User: user.id,
    Address: `${user.email}, ${user.emailVerifiedAt ? "verified" : "not verified"}`,
    Name: user.name ?? "none",
    Plan: user.plan,
    Since: minuteOf(user.createdAt),
    ...(user.suspendedAt ? { Suspended: `since ${minuteOf(user.suspendedAt)}` } : {}),
    "Last used": whenOf(user.lastUsedAt),
    Keys: String(user.keys),
    Team: user.team ? `${user.team.name} (${user.team.role}), ${user.team.id}` : "none",
    "Own graph": `${countInWords(user.memories, "memory", "memories")}, ${user.bytes} bytes`,
  });

await runCommand(program, import.meta.url);
