import { Command } from "commander";
import { retryMails, waitingMails } from "../features/mail/index.js";
import { forOperator } from "./for-operator.js";
import { withDatabase } from "./with-database.js";

const program = new Command("mail").description(
  "Shows mails that wait to be sent, beside a running server or without.",
);

program
  .command("list")
  .description("list the mails that wait, oldest first, and why they do")
  .option("--json", "print one JSON value and nothing else", false)
  .action(async ({ json }: { json: boolean }) => {
    const mails = await withDatabase(waitingMails);
    if (json) return console.log(JSON.stringify({ mails }));
    for (const { id, kind, email, attempts, due_at, last_error } of mails) {
      const reason = last_error === null ? "" : `\n  ${last_error.replaceAll(/\s+/g, " ")}`;
      console.log(`${id}  ${kind} to ${email}, attempts: ${attempts}, next at ${due_at.toISOString()}${reason}`);
    }
    if (mails.length === 0) console.log("No mail waits.");
  });

program
  .command("retry")
  .description("have mails that failed tried again by the running server at once")
  .argument("[id]", "the mail's id; all of them, unless given")
  .option("--json", "print one JSON value and nothing else", false)
  .action(async (id: string | undefined, { json }: { json: boolean }) => {
    const ids = await withDatabase((database) => retryMails(database, id));
    console.log(json ? JSON.stringify({ ids }) : `Mails that are tried again now: ${ids.length}.`);
  });

try {
  await program.parseAsync();
} catch (error) {
  console.error(forOperator(error));
  process.exitCode = 1;
}
