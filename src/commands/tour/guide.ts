import { styleText } from "node:util";
import { UserError } from "../../features/access/index.js";
import { codeOf } from "../../import/call-service.js";
import { ImportStopped } from "../../import/import-stopped.js";
import { printableLines } from "../../import/text.js";
import { type Answer, type Door, type Person, type Question, type Refusal, send, showCurl } from "./doors.js";
import { WIDTH, shorten, showJson } from "./show-json.js";

/** The tour cannot continue. The message says why and what to do. */
export class TourStopped extends UserError {}

/** One step: the request, the expected answer, and what it shows. */
export interface Step extends Question {
  readonly title: string;
  /** What the step has shown. */
  readonly shows: string;
  /** Checks the answer; by default every answer that is not a refusal is right. */
  readonly isRight?: (value: Answer["value"]) => boolean;
  /** The reason of the expected refusal, such as `team_full`. */
  readonly refusal?: string;
}

/** A request to the stand-in for Stripe, the same for both doors. */
export interface Aside {
  readonly title: string;
  readonly shows: string;
  readonly url: string;
  readonly body: object;
}

export interface StepReport {
  readonly title: string;
  readonly status: string;
  readonly shows: string;
}

const INDENT = "   ";

/** Runs the steps, shows each with its answer, and stops at the first unexpected answer. */
export class Guide {
  /** The completed steps. */
  readonly taken: StepReport[] = [];

  constructor(
    private readonly door: Door,
    private readonly screen: { readonly write: (text: string) => void; readonly colours: boolean },
  ) {}

  heading(text: string): void {
    this.print("");
    this.print(this.paint("bold", `── ${text} ${"─".repeat(Math.max(0, WIDTH - text.length))}`));
  }

  /** A line of explanation, or a shell variable that later requests use. */
  note(text: string): void {
    this.print(INDENT + printableLines(text));
  }

  /** @throws TourStopped when the answer is unexpected; ImportStopped when there is none. */
  async step(step: Step): Promise<Answer["value"]> {
    this.begin(step.title, this.door.show(step));
    const answer = await this.door.ask(step);
    const { refusal, status, value } = answer;
    this.showAnswer(status, answer.body);
    if (refusal?.reason !== step.refusal) throw unexpected(step, refusal);
    if (step.isRight && !step.isRight(value)) throw unexpected(step, value);
    this.end({ title: step.title, status, shows: step.shows });
    return value;
  }

  /** @throws TourStopped when it is refused, or there is no answer. */
  async aside({ title, shows, url, body }: Aside): Promise<void> {
    this.begin(title, showCurl({ url, method: "POST", body }));
    const answer = await send(url, "", { method: "POST", body }).catch((error: unknown) => {
      throw standInLost(url, error);
    });
    this.showAnswer(String(answer.status), answer.body);
    if (!answer.ok) throw unexpected({ title, shows }, { reason: String(answer.status), message: "" });
    this.end({ title, status: String(answer.status), shows });
  }

  /** Shows a new key as a shell variable, which later requests use. */
  meet(name: string, key: unknown): Person {
    const variable = name.toUpperCase();
    this.note(`${variable}=${String(key)}`);
    return { variable, key: String(key) };
  }

  private begin(title: string, request: string): void {
    this.print("");
    this.print(this.paint("bold", `${this.taken.length + 1}. ${title}`));
    this.print(indent(this.paint("cyan", request)));
  }

  private showAnswer(status: string, body: unknown): void {
    const text = body === null ? "" : showJson(shorten(body));
    this.print(indent(this.paint("dim", `${status}\n${text}`.trimEnd())));
  }

  private end(report: StepReport): void {
    this.taken.push(report);
    this.print(`${INDENT}${this.paint("green", "✓")} ${report.shows}`);
  }

  /** Answers contain what others have stored, of which JSON escapes only some characters that control a terminal. */
  private paint(style: "bold" | "cyan" | "dim" | "green", text: string): string {
    const safe = printableLines(text);
    return this.screen.colours ? styleText(style, safe) : safe;
  }

  private print(line: string): void {
    this.screen.write(`${line}\n`);
  }
}

const indent = (text: string): string => text.replaceAll(/^/gm, INDENT);

function unexpected(
  { title, shows, refusal }: Pick<Step, "title" | "shows" | "refusal">,
  came: Refusal | Answer["value"] | undefined,
): TourStopped {
  if (came?.["reason"] === "payment_provider_error") {
    return new TourStopped(
      `"${title}" was not possible: the server does not reach its stand-in for Stripe. Start the server again; with ` +
        `STRIPE_API_BASE, \`npm run doctor\` says why. ${WITHOUT_PAYMENTS}`,
    );
  }
  const expected = refusal === undefined ? "" : ` It should have been refused: ${refusal}.`;
  const answer = came ? ` The answer: ${JSON.stringify(shorten(came))}` : " It was not refused.";
  return new TourStopped(`"${title}" was not answered as expected: "${shows}"${expected}${answer}`);
}

export const WITHOUT_PAYMENTS = "--only graph and --only team need no payments.";

/** For a payment page whose server gives the tour no answer. */
export function standInLost(url: string, error: unknown): Error {
  if (error instanceof ImportStopped) return error;
  return new TourStopped(
    `The payment page at ${new URL(url).origin} does not answer (${codeOf(error)}). The tour pays at the stand-in for ` +
      "Stripe, which runs with the server, and which only programs on its machine reach: start the server again, or " +
      `the tour there. ${WITHOUT_PAYMENTS}`,
  );
}
