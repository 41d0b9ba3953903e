import { request } from "node:http";

/** An answer, read to the end. */
export interface Answer {
  readonly status: number;
  readonly headers: Headers;
  readonly body: unknown;
}

export interface Ask {
  readonly method?: string;
  readonly key?: string | undefined;
  readonly headers?: Record<string, string>;
  /** A text or bytes are sent as they are, anything else as JSON. */
  readonly body?: unknown;
}

export async function ask(url: string, wish: Ask = {}): Promise<Answer> {
  const { method, key, headers = {}, body } = wish;
  if (method === "GET" && typeof body === "string") return askWithBody(url, { ...wish, body });
  const raw = typeof body === "string" || body instanceof Uint8Array;
  const response = await fetch(url, {
    method: method ?? (body === undefined ? "GET" : "POST"),
    headers: {
      ...(key === undefined ? {} : { authorization: `Bearer ${key}` }),
      ...(body === undefined ? {} : { "content-type": "application/json" }),
      ...headers,
    },
    ...(body === undefined ? {} : { body: raw ? body : JSON.stringify(body) }),
  });
  const text = await response.text();
  const isJson = /json(?!l)/.test(response.headers.get("content-type") ?? "");
  return { status: response.status, headers: response.headers, body: isJson && text ? JSON.parse(text) : text };
}

/** A GET may have a body, though `fetch` sends none. */
function askWithBody(url: string, { method, key, headers, body }: Ask & { body: string }): Promise<Answer> {
  const given = { ...(key === undefined ? {} : { authorization: `Bearer ${key}` }), ...headers };
  return new Promise((resolve, reject) => {
    const sent = request(
      url,
      { method, headers: { "content-length": Buffer.byteLength(body), ...given } },
      (response) => {
        let text = "";
        response.on("data", (chunk) => (text += String(chunk)));
        response.on("end", () => {
          const names = Object.entries(response.headers).map(([name, value]) => [name, String(value)] as const);
          resolve({
            status: response.statusCode ?? 0,
            headers: new Headers(Object.fromEntries(names)),
            body: JSON.parse(text),
          });
        });
      },
    );
    sent.on("error", reject).end(body);
  });
}
