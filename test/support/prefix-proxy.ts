import { createServer, request as httpRequest } from "node:http";
import { listen } from "./listening.js";

export interface PrefixProxy extends AsyncDisposable {
  /** The URL of the server for its clients. */
  readonly url: string;
  /** The paths of the requests that it refused. */
  readonly outside: readonly string[];
  /** Sets the server that it leads to. */
  leadsTo(url: string): void;
}

/**
 * A proxy that serves a server below a prefix, which it removes. Of other paths it passes on only those below
 * `passedOn`, unchanged.
 */
export async function startPrefixProxy(passedOn?: string): Promise<PrefixProxy> {
  const outside: string[] = [];
  let target = "";
  const proxy = createServer((request, response) => {
    const path = request.url ?? "";
    const isBelow = path.startsWith("/prefix/");
    if (!isBelow && (passedOn === undefined || !path.startsWith(passedOn))) {
      outside.push(path);
      response.writeHead(404).end();
      return;
    }
    const { method, headers } = request;
    const inner = httpRequest(target + (isBelow ? path.slice("/prefix".length) : path), { method, headers });
    inner.on("response", (answer) => {
      response.writeHead(answer.statusCode ?? 502, answer.headers);
      answer.pipe(response);
    });
    request.pipe(inner);
  });
  return {
    outside,
    url: `http://127.0.0.1:${await listen(proxy)}/prefix`,
    leadsTo: (url) => void (target = url),
    async [Symbol.asyncDispose]() {
      const closed = new Promise((done) => proxy.close(done));
      proxy.closeAllConnections();
      await closed;
    },
  };
}
