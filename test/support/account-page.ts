import type { RunningApp } from "../../src/app.js";
import type { Actor, World } from "./world.js";

/** The code by which people sign in. */
export const CODE = "12345678";

/** A world with a server whose page is visited. */
type Visited = World & { readonly app: Pick<RunningApp, "url"> };

/** What a page says, without its markup. */
export const textOf = (page: string): string =>
  page
    .replaceAll(/<(style|script)>.*?<\/\1>/gs, "")
    .replaceAll(/<[^>]+>/g, "")
    .replaceAll("&#39;", "'")
    .replaceAll(/\s+/g, " ");

/** A browser without scripts, which keeps the page's cookie. */
export function visit({ app }: Visited) {
  const cookies: string[] = [];
  const ask = async (path: string, options: RequestInit, url = app.url) => {
    const [cookie = ""] = (cookies.at(-1) ?? "").split(";");
    const headers = { ...(cookie && { cookie }), ...(options.headers as Record<string, string>) };
    const answer = await fetch(`${url}/account${path}`, { redirect: "manual", ...options, headers });
    cookies.push(...answer.headers.getSetCookie());
    return { status: answer.status, location: answer.headers.get("location"), text: await answer.text() };
  };
  const send = (path: string, form: Record<string, string>, headers: Record<string, string> = {}, url?: string) =>
    ask(path, { method: "POST", body: new URLSearchParams(form), headers }, url);
  /** The form that orders the seats whose price is shown. */
  const price = async (seats: string): Promise<Record<string, string>> => {
    const { text } = await send("/preview", { seats });
    const fields = text.matchAll(/type="hidden" name="([^"]+)" value="([^"]*)"/g);
    return Object.fromEntries([...fields].map(([, name = "", value = ""]) => [name, value]));
  };
  return {
    cookies,
    open: (cookie?: string, url?: string) => ask("", { headers: cookie === undefined ? {} : { cookie } }, url),
    get: (path: string) => ask(path, {}),
    send,
    price,
    order: async (seats: string) => send("/seats", await price(seats)),
  };
}

/** A visitor who has signed in by a code. */
export async function signedIn(world: Visited, { email }: Actor) {
  const visitor = visit(world);
  await world.giveCode(email, CODE);
  await visitor.send("/sign-in", { email, code: CODE });
  return visitor;
}
