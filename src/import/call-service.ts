import { ImportStopped } from "./import-stopped.js";

/**
 * Sends a request to the service. Redirects are not followed: `fetch` would repeat a POST as a GET without a body, and
 * at another host without the key, so that a good key would look wrong.
 * @param url the service's address; `path` may have a query
 * @throws ImportStopped naming the address to use instead of one that redirects
 */
export async function callService(url: string, path: string, request: RequestInit): Promise<Response> {
  const response = await fetch(`${url}${path}`, { ...request, redirect: "manual" });
  const location = response.headers.get("location");
  if (response.status < 300 || response.status > 399 || !location || !URL.canParse(location, `${url}${path}`))
    return response;
  await response.body?.cancel();
  const [asked = ""] = path.split("?");
  throw new ImportStopped(`${url} ${describeRedirect(url, asked, new URL(location, `${url}${path}`))}`);
}

/** For an error of `callService`, or of reading its answer: the sentence that says what to do. */
export const stoppedBy = (url: string, error: unknown): ImportStopped =>
  error instanceof ImportStopped ? error : noAnswer(url, codeOf(error));

/** For a server that gave no answer, with the system's code of the error. */
export const noAnswer = (url: string, code: string): ImportStopped =>
  new ImportStopped(
    code.startsWith("ERR_SSL_")
      ? `${url} does not speak TLS (${code}). Check --url: it may begin with http://.`
      : `${url} does not answer (${code}). Start the service there with \`npm start\`, or check --url.`,
  );

/** The system's code of an error of `fetch`. It is in the error's cause, if it has one. */
export function codeOf(error: unknown): string {
  const cause = error instanceof Error && error.cause instanceof Error ? error.cause : error;
  if (cause instanceof Error && "code" in cause && typeof cause.code === "string") return cause.code;
  if (cause instanceof Error) return cause.name === "Error" ? cause.message : cause.name;
  return String(cause);
}

/** The query of the location is not shown, since it may be secret. */
function describeRedirect(url: string, asked: string, { origin, pathname }: URL): string {
  const whole = pathname.endsWith(`${asked}/`) ? pathname.slice(0, -1) : pathname;
  if (!whole.endsWith(asked)) {
    return `redirects to ${origin}${pathname}, which is not the service. Give the service's own address by --url.`;
  }
  const base = `${origin}${whole.slice(0, whole.length - asked.length)}`;
  if (base !== new URL(url).href.replace(/\/+$/, "")) return `redirects to ${base}. Give that address by --url.`;
  return (
    `redirects ${asked} to ${pathname}, which the service never does. Let a proxy in front of it pass on paths as they ` +
    "are, or check --url."
  );
}

/**
 * Statuses of a server that may answer a repetition: it waited too long for the request (408), does not reach the
 * service or waits for it in vain (502 to 504, Cloudflare's 520 to 524 and 530), or is overloaded (503, 529). Others
 * stay as they are until somebody changes something, such as 501, 505, 511 and 525, or are a bug of the service (500).
 */
export const TEMPORARY: ReadonlySet<number> = new Set([408, 502, 503, 504, 520, 521, 522, 523, 524, 529, 530]);

/** For an answer that is not the service's: what is there, and what to do. */
export const notServed = (url: string, status: number): ImportStopped =>
  new ImportStopped(
    TEMPORARY.has(status)
      ? `${url} cannot be reached now (status ${status}). Try again later.`
      : `The server at ${url} is not this service (status ${status}). Check --url.`,
  );
