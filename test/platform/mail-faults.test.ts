import { readFile } from "node:fs/promises";
import { createServer } from "node:net";
import { hostname } from "node:os";
import { join } from "node:path";
import { simpleParser } from "mailparser";
import { expect, it } from "vitest";
import { sendDueMails } from "../../src/features/mail/outbox.js";
import { queueNotice } from "../../src/operation/notice.js";
import { type MailSettings, createMailer, verifyMailServer } from "../../src/platform/mailer.js";
import { loggerTo } from "../../src/platform/telemetry/logger.js";
import { aFolder } from "../support/folder.js";
import { withLimits } from "../support/limits.js";
import { listen } from "../support/listening.js";
import { createWorld } from "../support/world.js";

/** What a client sends, in its order, and what a mail server answers; the first answer comes unasked. */
const STEPS = {
  "": "220 ready",
  EHLO: "250 hello",
  "MAIL FROM": "250 ok",
  "RCPT TO": "250 ok",
  DATA: "354 go on",
  ".": "250 taken",
} as const;
type Step = keyof typeof STEPS;
const REFUSALS = {
  "breaks the connection": "",
  "cannot now": "421 try again later",
  "may not": "530 sign in first",
  "says what is no text": "421 \0",
};

const cases = Object.keys(STEPS).flatMap((step) => Object.entries(REFUSALS).map(([how, said]) => [how, step, said]));

it.each(cases as Array<[string, Step, string]>)(
  "keeps a mail, and sends it once later, if the server %s at %j",
  async (_how, step, said) => {
    await using world = await createWorld();
    await using smtp = await startFalseMailServer();
    const settings = {
      development: false,
      smtpUrl: smtp.url,
      mailFrom: "mail@example.com",
      dataDir: "",
    };
    const mailer = await createMailer(settings, world.services.log);
    const send = async () => mailer && (await sendDueMails({ ...world.services, mailer }));
    const { mail } = world.database.models;
    const notice = { subject: "A notice", body: "A text." };
    await queueNotice(world.database, {
      id: world.services.newId(),
      email: "bob@example.com",
      ...notice,
    });

    smtp.failAt(step, said);
    await send();
    const kept = await mail.findMany();
    await mail.updateMany({ data: { dueAt: new Date(0) } });
    await send();

    expect(kept).toMatchObject([{ attempts: 1, lastError: expect.any(String) as string }]);
    expect(await mail.count()).toBe(0);
    expect(smtp.taken).toBe(1);
    expect(world.bugs).toEqual([]);
  },
);

it("gives up sending to a server that takes too long in all", async () => {
  using _limits = withLimits("mails", { sendMs: 200 });
  const server = createServer((socket) => void socket.on("error", () => {}));
  const smtpUrl = `smtp://127.0.0.1:${await listen(server)}`;

  const mailer = await mailerTo({ smtpUrl });

  await expect(mailer?.send(MAIL)).rejects.toThrow("aborted");
  server.close();
});

it.each(["EHLO", "RCPT TO", "DATA", "."] as const)(
  "sends once if the process pauses at the answer to %j",
  async (step) => {
    // The machine itself hardly pauses for so long.
    const sendMs = 1_500;
    using _limits = withLimits("mails", { sendMs });
    await using smtp = await startFalseMailServer();
    smtp.pauseAt(step, sendMs + 100);

    const mailer = await mailerTo({ smtpUrl: smtp.url });
    await mailer?.send(MAIL);

    expect(smtp.taken).toBe(1);
  },
);

it.each([
  ["never greets", "", { connectMs: 500 }],
  ["greets and says nothing more", "220 ready\r\n", { sendMs: 1_000 }],
])("gives up a server that %s", async (_how, greeting, limits) => {
  using _limits = withLimits("mails", limits);
  const server = createServer((socket) => void socket.on("error", () => {}).write(greeting));
  const url = `smtp://127.0.0.1:${await listen(server)}`;
  const begun = performance.now();

  await expect(verifyMailServer({ smtpUrl: url, development: false })).rejects.toThrow(/greeting|timeout/i);

  // Nodemailer's own limits are 30 s and 10 minutes.
  expect(performance.now() - begun).toBeLessThan(15_000);
  server.close();
});

it("greets by the host of its public address, where the machine's name has no domain, unless SMTP_URL says otherwise", async () => {
  const greetings: string[] = [];
  const server = createServer((socket) => {
    socket
      .on("error", () => {})
      .on("data", (said) => {
        greetings.push(said.toString().trim());
        socket.write("250 ok\r\n");
      });
    socket.write("220 ready\r\n");
  });
  const smtpUrl = `smtp://127.0.0.1:${await listen(server)}`;
  const given = [
    { publicUrl: "https://memory.example.com/path" },
    { publicUrl: "http://10.0.0.1:4000" },
    { publicUrl: "http://localhost:4000" },
    { publicUrl: undefined },
    { publicUrl: "https://memory.example.com", smtpUrl: `${smtpUrl}?name=mail.example.org` },
  ];

  for (const settings of given) await verifyMailServer({ smtpUrl, development: true, ...settings });

  const own = hostname().includes(".") ? hostname() : undefined;
  const names = [own ?? "memory.example.com", ...Array<string>(3).fill(own ?? "[127.0.0.1]"), "mail.example.org"];
  expect(greetings.filter((said) => said.startsWith("EHLO"))).toEqual(names.map((name) => `EHLO ${name}`));
  server.close();
});

it("waits for a server that examines a mail longer than connecting may take, instead of sending it twice", async () => {
  using _limits = withLimits("mails", { connectMs: 1_000 });
  await using smtp = await startFalseMailServer();
  smtp.takeIn(2_000);

  const mailer = await mailerTo({ smtpUrl: smtp.url });
  await mailer?.send(MAIL);

  expect(smtp.taken).toBe(1);
});

it("sends to one address, whatever the text of the address says", async () => {
  const dataDir = await aFolder();
  const both = "bob@example.com,cid@example.com";

  const mailer = await mailerTo({ development: true, dataDir });
  await mailer?.send({ ...MAIL, to: both, replyTo: both });

  const { to, replyTo } = await simpleParser(await readFile(join(dataDir, "mail", `${MAIL.id}.eml`)));
  expect([to, replyTo].flat().map((field) => field?.value)).toEqual([[expect.anything()], [expect.anything()]]);
});

const MAIL = {
  id: "one",
  to: "bob@example.com",
  subject: "A notice",
  text: "A text.",
  html: "<p>A text.</p>",
};

const mailerTo = (given: Partial<MailSettings>) =>
  createMailer(
    {
      development: false,
      smtpUrl: undefined,
      mailFrom: "mail@example.com",
      dataDir: "",
      ...given,
    },
    loggerTo({ write() {} }, "silent"),
  );

/**
 * A mail server that fails once at a step: it answers with this, or breaks the connection if that is nothing. It may
 * take its time to take a mail.
 */
async function startFalseMailServer() {
  let failing: { readonly step: Step; readonly said: string } | undefined;
  let taken = 0;
  let takenInMs = 0;
  let paused: { readonly step: Step; readonly ms: number } | undefined;
  const server = createServer((socket) => {
    let isMail = false;
    const answer = (step: Step): void => {
      if (failing?.step !== step) {
        if (step === ".") taken++;
        isMail = step === "DATA";
        const tell = () => {
          socket.write(`${STEPS[step]}\r\n`);
          const end = paused?.step === step ? performance.now() + paused.ms : 0;
          while (performance.now() < end);
        };
        return void setTimeout(tell, step === "." ? takenInMs : 0);
      }
      const { said } = failing;
      failing = undefined;
      if (said === "") socket.destroy();
      else socket.write(`${said}\r\n`);
    };
    socket.on("error", () => {});
    answer("");
    let text = "";
    socket.on("data", (bytes) => {
      text += bytes.toString();
      if (isMail ? !text.endsWith("\r\n.\r\n") : !text.endsWith("\r\n")) return;
      const step = isMail ? "." : Object.keys(STEPS).find((known) => known !== "" && text.startsWith(known));
      text = "";
      if (step !== undefined) answer(step as Step);
      else socket.end("221 bye\r\n");
    });
  });
  return {
    url: `smtp://127.0.0.1:${await listen(server)}`,
    get taken() {
      return taken;
    },
    /** Lets this process do nothing for so long when the answer at this step is sent, and not yet read. */
    pauseAt: (step: Step, ms: number) => void (paused = { step, ms }),
    takeIn: (ms: number) => void (takenInMs = ms),
    failAt: (step: Step, said: string) => void (failing = { step, said }),
    [Symbol.asyncDispose]: async () => void server.close(),
  };
}
