import { createHash, randomBytes, randomInt, randomUUID } from "node:crypto";
import type { RunningApp } from "../../src/app.js";
import { ask } from "./http.js";
import { messageOf } from "./mcp.js";
import { freePort } from "./server-process.js";
import type { World } from "./world.js";

export const CODE = "12345678";
export const CALLBACK = "https://app.example.com/callback";

/** A server that knows its own URL, as OAuth needs. */
export async function serveWithOAuth(world: World, more: Record<string, string> = {}): Promise<RunningApp> {
  const port = await freePort();
  const url = `http://127.0.0.1:${port}`;
  return world.serve({ PORT: String(port), PUBLIC_URL: url, TRUSTED_PROXIES: "1", ...more });
}

export interface Tokens {
  readonly access_token: string;
  readonly refresh_token: string;
  readonly expires_in: number;
  readonly scope: string;
  readonly error?: string;
  readonly error_description?: string;
}

/** The browser's machine has the right time, whatever a test sets. */
const RightDate = Date;

/** Whether a cookie has ended when it arrives. */
function isOver(cookie: string): boolean {
  const [, seconds] = /; max-age=(-?\d+)/i.exec(cookie) ?? [];
  if (seconds !== undefined) return Number(seconds) <= 0;
  const [, end] = /; expires=([^;]+)/i.exec(cookie) ?? [];
  return end !== undefined && RightDate.parse(end) <= RightDate.now();
}

/** An OAuth client with a browser and without any library, so that each value it sends can be made wrong. */
export class OAuthWalker {
  /** The user whose graph it asks for. */
  readonly email = `${randomUUID()}@example.com`;
  /** An IP address of its own, so that no other test uses up its limits. */
  readonly address = Array.from({ length: 4 }, () => randomInt(1, 255)).join(".");

  /** Some proxies write the client's port, which is another for each connection. */
  get #network() {
    return { "x-forwarded-for": `${this.address}:${randomInt(1_024, 65_536)}` };
  }

  readonly verifier = randomBytes(32).toString("base64url");
  /** Cookies by path, as a browser keeps them. */
  readonly #cookies = new Map<string, string>();

  constructor(
    readonly url: string,
    readonly world: World,
  ) {}

  async register(metadata: object = { redirect_uris: [CALLBACK], client_name: "A program" }) {
    const response = await fetch(`${this.url}/oauth/register`, {
      method: "POST",
      headers: { "content-type": "application/json", ...this.#network },
      body: JSON.stringify(metadata),
    });
    return { status: response.status, body: (await response.json()) as { client_id: string; error?: string } };
  }

  /** Starts a connection. @returns the answer, and the path of the page if it redirects there */
  begin(clientId: string, changed: Readonly<Record<string, string | undefined>> = {}) {
    return this.visit(this.startOf(clientId, changed));
  }

  /** Where a connection starts: a program sends its user there. */
  startOf(clientId: string, changed: Readonly<Record<string, string | undefined>> = {}): string {
    const query = {
      client_id: clientId,
      redirect_uri: CALLBACK,
      response_type: "code",
      state: "a state",
      code_challenge: createHash("sha256").update(this.verifier).digest("base64url"),
      code_challenge_method: "S256",
      resource: `${this.url}/mcp/oauth`,
      scope: "memories:read memories:write",
      ...changed,
    };
    const sent = Object.entries(query).filter((entry): entry is [string, string] => entry[1] !== undefined);
    return `/oauth/authorize?${new URLSearchParams(sent).toString()}`;
  }

  /** Sends a request as a browser does, but follows no redirects. */
  async visit(path: string, form?: Readonly<Record<string, string>>) {
    const cookie = [...this.#cookies].map(([name, value]) => `${name}=${value}`).join("; ");
    const response = await fetch(new URL(path, this.url), {
      redirect: "manual",
      headers: { cookie, accept: "text/html", ...this.#network },
      ...(form && { method: "POST", body: new URLSearchParams(form) }),
    });
    for (const line of response.headers.getSetCookie()) {
      const [, name = "", value = ""] = /^([^=]+)=([^;]*)/.exec(line) ?? [];
      if (isOver(line)) this.#cookies.delete(name);
      else this.#cookies.set(name, value);
    }
    const location = response.headers.get("location") ?? "";
    return { status: response.status, location, text: await response.text(), headers: response.headers };
  }

  /** Walks from the start to the code that the client receives. */
  async agree(clientId: string, changed: Readonly<Record<string, string | undefined>> = {}) {
    const { location: page } = await this.begin(clientId, changed);
    await this.visit(`${page}/code`, { email: this.email });
    await this.world.giveCode(this.email, CODE);
    const answered = await this.visit(`${page}/answer`, { code: CODE, answer: "allow" });
    const { location } = await this.visit(answered.location);
    return new URL(location).searchParams;
  }

  async token(form: Readonly<Record<string, string>>, path = "/oauth/token") {
    const request = { method: "POST", headers: this.#network, body: new URLSearchParams(form) };
    const response = await fetch(this.url + path, request);
    return { status: response.status, body: (await response.json()) as Tokens };
  }

  exchange(clientId: string, code: string, changed: Readonly<Record<string, string>> = {}) {
    const given = { grant_type: "authorization_code", redirect_uri: CALLBACK, code_verifier: this.verifier };
    return this.token({ ...given, client_id: clientId, code, ...changed });
  }

  refresh(clientId: string, token: string, changed: Readonly<Record<string, string>> = {}) {
    return this.token({ grant_type: "refresh_token", client_id: clientId, refresh_token: token, ...changed });
  }

  /** Sends a message to one of the doors for agents. */
  async say(token: string | undefined, method: string, params: object = {}, path = "/mcp/oauth") {
    const { headers, body } = messageOf(method, params);
    const answer = await ask(this.url + path, { key: token, headers, body });
    return { ...answer, body: answer.body as { result?: Record<string, unknown>; error?: { message: string } } };
  }

  /** Lets everything of this kind expire. */
  expire(kind: string) {
    return this.world.database.models.oAuthRecord.updateMany({ where: { kind }, data: { expiresAt: new Date(0) } });
  }

  /** Connects the client and returns its tokens. */
  async connect(changed: Readonly<Record<string, string | undefined>> = {}) {
    const { body: client } = await this.register();
    const answer = await this.agree(client.client_id, changed);
    const { body } = await this.exchange(client.client_id, answer.get("code") ?? "");
    return { clientId: client.client_id, ...body };
  }
}
