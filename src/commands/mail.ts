import { InvalidArgumentError } from "commander";
import { UserError } from "../features/access/index.js";
import { type WaitingMail, retryMails, readWaitingMails } from "../features/mail/index.js";
import { UUID } from "../operation/id.js";
import { JSON_OPTION, commandLine, countUpTo, runCommand } from "./command-line.js";
import { tableOf } from "./table.js";
import { minuteOf } from "../wording.js";
import { withDatabase } from "./with-database.js";

/** More hardly ever wait. */
const LISTED_MAX = 1_000_000;

export const program = commandLine({
  script: "mail",
  description: "Shows and retries mails that wait to be sent, with or without a running server.",
  examples: [
    "npm run mail -- list",
    "npm run mail -- list --limit 20000",
    "npm run mail -- retry",
    "npm run mail -- retry 01890a5d-ac96-774b-bcce-b302099a8057",
    "npm run --silent mail -- list --json",
  ],
});

program
  .command("list")
  .description("list the waiting mails, oldest first, with the reason")
  .option("--limit <count>", "how many", countUpTo(LISTED_MAX), 1_000)
  .option(...JSON_OPTION)
  .action(async ({ limit, json }: { limit: number; json?: true }) => {
    const { mails, total } = await withDatabase((database) => readWaitingMails(database, limit));
    if (json) return console.log(JSON.stringify({ mails, total }));
    if (mails.length === 0) return console.log("No mails are waiting.");
    console.log(tableOf(["MAIL", "KIND", "TRIES", "NEXT AT", "TO"], mails.map(rowOf)));
    const reasons = mails.flatMap(({ id, last_error: why }) => (why === null ? [] : [[id, why]]));
    if (reasons.length > 0) console.log(`\n${tableOf(["MAIL", "WHY THE LAST TRY FAILED"], reasons)}`);
    if (total > mails.length) console.log(`\n${total - mails.length} more wait: --limit ${total} lists all.`);
  });

program
  .command("retry")
  .description("let the running server retry failed mails at once")
  .argument("[id]", "the mail's id (default: all)", mailId)
  .option(...JSON_OPTION)
  .action(async (id: string | undefined, { json }: { json?: true }) => {
    const ids = await withDatabase((database) => retryMails(database, id));
    if (id !== undefined && ids.length === 0)
      throw new UserError("No failed mail with this id waits: see `npm run mail -- list`.");
    console.log(json ? JSON.stringify({ ids }) : `Mails that are retried now: ${ids.length}.`);
  });

function mailId(text: string): string {
  if (!UUID.test(text)) throw new InvalidArgumentError("It must be the id of a mail, as `list` shows it.");
  return text;
}

const rowOf = ({ id, kind, attempts, due_at, last_error: why, email }: WaitingMail): string[] => [
  id,
  kind === "sign_up" ? "sign-up" : kind,
  String(attempts),
  // During an attempt, it is due when another server may try. Later, the one that tried has ended.
  attempts > 0 && why === null && due_at.getTime() > Date.now() ? "being sent" : minuteOf(due_at),
  email,
];

await runCommand(program, import.meta.url);
