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

export async function ask(url: string, { method, key, headers = {}, body }: Ask = {}): Promise<Answer> {
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
  const isJson = /json/.test(response.headers.get("content-type") ?? "");
  return { status: response.status, headers: response.headers, body: isJson && text ? JSON.parse(text) : text };
}
