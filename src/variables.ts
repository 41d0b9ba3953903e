import { editDistance } from "./platform/edit-distance.js";

type Environment = Readonly<Record<string, string | undefined>>;

/** The configuration is wrong. The message lists every problem on its own line. */
export class ConfigError extends Error {
  constructor(problems: readonly string[]) {
    super(`The configuration has ${problems.length === 1 ? "a problem" : "problems"}:\n${problems.join("\n")}`);
  }
}

/** Reads environment variables, and collects what is wrong with them, to report all of it at once. */
export class Variables {
  readonly #problems = new Set<string>();
  /** The names of all variables that were read, set or not. */
  readonly #known = new Set<string>();
  /** The names of those whose values are in quotes. */
  readonly #quoted = new Set<string>();

  constructor(private readonly environment: Environment) {}

  /** The value without spaces around it; undefined if it is not set, or blank. Quotes around it are reported. */
  text(name: string): string | undefined {
    this.#known.add(name);
    const text = this.environment[name]?.trim() ?? "";
    const [, , inside] = IN_QUOTES.exec(text) ?? [];
    if (inside !== undefined) this.#quoted.add(name);
    return (inside ?? text) || undefined;
  }

  /** The value with the spaces around it. */
  textAsSet(name: string): string | undefined {
    return this.text(name) === undefined ? undefined : this.environment[name];
  }

  /** Whether any of the variables that were read so far, and whose names begin so, is set. */
  isAnySet(beginning: string): boolean {
    return [...this.#known].some((name) => name.startsWith(beginning) && this.text(name) !== undefined);
  }

  /** Reports a problem with a variable. */
  report(name: string, problem: string): void {
    this.#problems.add(`  ${name} ${problem}`);
  }

  /** Reports a wrong value, and repeats it: not for values that may be secret. */
  refuse(name: string, must: string): void {
    this.report(name, `must be ${must}; it is "${this.text(name)}".`);
  }

  /** A whole number from `min` to `max`. */
  whole(name: string, fallback: number, max: number, min = 0): number {
    const text = this.text(name);
    if (text === undefined) return fallback;
    const fits = /^\d{1,9}$/.test(text) && Number(text) >= min && Number(text) <= max;
    if (!fits) this.refuse(name, `a whole number from ${min} to ${max}`);
    return Number(text);
  }

  isYes(name: string): boolean {
    return this.choice(name, ["yes", "no"], "no") === "yes";
  }

  choice<Choice extends string>(name: string, choices: readonly Choice[], fallback: Choice): Choice {
    const text = this.text(name)?.toLowerCase();
    const chosen = choices.find((known) => known === text);
    if (text !== undefined && !chosen) this.refuse(name, `one of ${choices.join(", ")}`);
    return chosen ?? fallback;
  }

  /** Some of the choices, separated by commas, or `none`; all if it is not set. */
  some<Choice extends string>(name: string, choices: readonly Choice[]): readonly Choice[] {
    const text = this.text(name);
    if (text === undefined) return choices;
    const words = splitAtCommas(text.toLowerCase());
    const chosen = choices.filter((known) => words.includes(known));
    const isNone = words.length === 1 && words[0] === "none";
    if (!isNone && chosen.length !== words.length) this.refuse(name, `none, or some of ${choices.join(", ")}`);
    return chosen;
  }

  /** Texts that are separated by commas. */
  list(name: string): string[] {
    return splitAtCommas(this.text(name) ?? "").filter(Boolean);
  }

  /** A URL with one of these protocols, such as `https:`. */
  url(name: string, protocols: readonly string[]): string | undefined {
    const text = this.text(name);
    // What precedes a # in a password would be taken for a port. A comment has one, too.
    if (text === undefined || (isUrl(text, protocols) && !text.includes("#"))) return text;
    // A URL of the web has no user.
    const passwords = protocols === WEB ? "" : PASSWORDS;
    const beginnings = protocols.map((protocol) => `${protocol}//`).join(" or ");
    // The value may contain a password, so it is not repeated.
    this.report(name, `must be a URL that begins with ${beginnings} and has no #.${passwords}`);
    return undefined;
  }

  /**
   * A URL to which paths are appended, without a slash at its end. In the form that clients compare: the host in small
   * letters, no usual port.
   */
  base(name: string): string | undefined {
    const text = this.url(name, WEB);
    if (text !== undefined && /[\s?@]/.test(text)) {
      this.report(name, "must be a URL without a user, spaces and ?: paths are put at its end.");
    }
    if (text === undefined) return undefined;
    const { origin, pathname } = new URL(text);
    return (origin + pathname).replace(/\/+$/, "");
  }

  /** The URL of a server, with user and password. */
  login(name: string, protocols: readonly string[]): string | undefined {
    const text = this.url(name, protocols);
    const { username = "", password = "", pathname = "" } = text === undefined ? {} : new URL(text);
    if (![username, password, pathname].every(isDecodable)) {
      this.report(name, "cannot be decoded: write a percent sign as %25, also in a password.");
    }
    return text;
  }

  /** A key or an id, which is sent in headers or compared: a space or a line break from copying would break it. */
  word(name: string, pattern = /^[!-~]+$/, must = "one word of ASCII characters"): string | undefined {
    const text = this.text(name);
    // It may be a secret, so it is not repeated.
    if (text !== undefined && !pattern.test(text)) this.report(name, `must be ${must}, without spaces and quotes.`);
    return text;
  }

  /** @throws ConfigError naming every wrong variable, and those that are misspelt. */
  assertRight(): void {
    const quoted = Array.from(
      this.#quoted,
      (name) => `  ${name} is in quotes, which are a part of its value here: leave them out.`,
    );
    const problems = [...this.#problems, ...quoted, ...this.#misspelt()];
    if (problems.length > 0) throw new ConfigError(problems);
  }

  /**
   * Finds variables that the service does not read, but whose names are nearly those of unset variables. For example,
   * with a misspelt DATABASE_URL everything would be stored in an embedded database.
   */
  #misspelt(): string[] {
    const isSet = (name: string) => Boolean(this.environment[name]?.trim());
    const unset = [...this.#known].filter((name) => !isSet(name));
    const unread = Object.keys(this.environment).filter((name) => isSet(name) && !this.#known.has(name));
    return unread.flatMap((name) => {
      const meant = unset.find((other) => isSlipOf(name, other));
      return meant === undefined ? [] : [`  ${name} is no variable of the service: set ${meant} instead.`];
    });
  }
}

/** A shell and a file `.env` remove such quotes, Docker's `--env-file` does not. */
const IN_QUOTES = /^(["'])(.*)\1$/s;

const splitAtCommas = (text: string): string[] => text.split(",").map((item) => item.trim());

export const WEB = ["http:", "https:"];

const PASSWORDS = " Special characters of a password are written as %40 for @, %2F for /, %23 for #.";

export function isUrl(text: string, protocols: readonly string[]): boolean {
  return URL.canParse(text) && protocols.some((protocol) => text.toLowerCase().startsWith(`${protocol}//`));
}

/** Whether every percent sign begins a valid escape. */
export function isDecodable(text: string): boolean {
  try {
    return decodeURIComponent(text) !== undefined;
  } catch {
    return false;
  }
}

/**
 * Whether a name is a typing error for another one. Short names allow fewer errors, since they differ little. Only names
 * with the same beginning or end are compared letter by letter: comparing all took each start 20 ms.
 */
function isSlipOf(given: string, other: string): boolean {
  const name = given.toUpperCase();
  const slipsMax = Math.min(2, Math.floor(other.length / 6));
  const isNear = name[0] === other[0] || name.at(-1) === other.at(-1);
  return isNear && Math.abs(name.length - other.length) <= slipsMax && editDistance(name, other) <= slipsMax;
}
