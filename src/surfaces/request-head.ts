import type { IncomingMessage } from "node:http";
import type { Handler, Request } from "express";
import { Failure } from "../operation/failure.js";
import type { HttpLimits } from "./http-limits.js";
import { UnreadableRequest } from "./http.js";

/** Every refusal of a request's head, for the documentation. */
export const headRefusals = ({ urlBytes, mediaTypesBytes, headers, headBytes }: HttpLimits): Failure[] => [
  new HeadTooLarge("url_too_long", tooLongUrl(urlBytes)),
  new HeadTooLarge("media_types_too_long", tooLongMediaTypes("accept", mediaTypesBytes)),
  new HeadTooLarge("too_many_headers", tooManyHeaders(headers)),
  new HeadTooLarge("head_too_large", tooLargeHead(headBytes)),
];

export class HeadTooLarge extends Failure {
  readonly kind = "payload_too_large";

  constructor(
    override readonly reason: string,
    message: string,
  ) {
    super(message);
  }
}

/**
 * @throws HeadTooLarge when the URL, the number of headers or the whole head exceeds its limit.
 * @throws UnreadableRequest when there is not exactly one valid `Host`, when a header that may be there only once is
 * given twice, when the URL has a fragment, or when the body is framed by what this server or its version of HTTP does
 * not know.
 */
export function assertHeadFits(limits: HttpLimits): Handler {
  return (request, response, next) => {
    const { url, httpVersion, rawHeaders, headers } = request;
    // A page cannot read why a preflight is refused. The request that follows is as long, and its refusal can be read.
    if (!isPreflight(request)) assertSizesFit(limits, request);
    if (headers.host === undefined && httpVersion === "1.1") throw new UnreadableRequest("Send the header `Host`.");
    // With several hosts, a proxy in front may have routed by a different one.
    if (!HOST.test(headers.host ?? "") || rawHeaders.filter(isNameOf("host")).length > 1)
      throw new UnreadableRequest("Send one header `Host`, with a name or an address and nothing else.");
    // Node would take the first and drop the others, or join them, and a proxy in front may have checked a different one.
    for (const name of ["authorization", "content-type", "idempotency-key"]) {
      if (rawHeaders.filter(isNameOf(name)).length > 1)
        throw new UnreadableRequest(`The header ${name} is given twice. Send it once.`);
    }
    // HTTP/1.0 knows no chunks, so a proxy in front may have read another body, and what follows it as another request.
    const coding = headers["transfer-encoding"];
    if (httpVersion !== "1.1" && coding !== undefined) {
      response.setHeader("Connection", "close");
      throw new UnreadableRequest("HTTP/1.0 knows no `Transfer-Encoding`. Send `Content-Length`, or HTTP/1.1.");
    }
    // Node decodes only the chunks, and ignores what comes before. It refuses itself what does not end with `chunked`.
    if (coding !== undefined && /,\s*chunked$/i.test(coding))
      throw new UnreadableRequest("The only `Transfer-Encoding` is `chunked`. Compress a body by `Content-Encoding`.");
    // Express would silently drop everything after it.
    if (url.includes("#")) throw new UnreadableRequest("The URL contains a `#`. Write it as `%23`.");
    next();
  };
}

/** Whether a browser asks if a page of another origin may send a request. */
export const isPreflight = ({ method, headers }: Pick<Request, "method" | "headers">): boolean =>
  method === "OPTIONS" && headers.origin !== undefined && "access-control-request-method" in headers;

/** Whether the client sends its body only after `100 Continue` (RFC 9110, 10.1.1), or after a wait of its own. */
export const expectsInvitation = ({
  headers,
  httpVersion,
}: Pick<IncomingMessage, "headers" | "httpVersion">): boolean =>
  httpVersion !== "1.0" && /\b100-continue\b/i.test(headers.expect ?? "");

function assertSizesFit(limits: HttpLimits, { method, url, rawHeaders, headers }: Request): void {
  if (url.length > limits.urlBytes) throw new HeadTooLarge("url_too_long", tooLongUrl(limits.urlBytes));
  for (const name of ["accept", "content-type"] as const) {
    if ((headers[name]?.length ?? 0) > limits.mediaTypesBytes)
      throw new HeadTooLarge("media_types_too_long", tooLongMediaTypes(name, limits.mediaTypesBytes));
  }
  if (rawHeaders.length > 2 * limits.headers)
    throw new HeadTooLarge("too_many_headers", tooManyHeaders(limits.headers));
  // The request line ends in a space, the protocol and a line break, each header in a line break.
  let bytes = method.length + url.length + " ".length * 2 + "HTTP/1.1\r\n\r\n".length;
  for (const part of rawHeaders) bytes += part.length + 2;
  if (bytes > limits.headBytes) throw new HeadTooLarge("head_too_large", tooLargeHead(limits.headBytes));
}

const HOST = /^(?:\[[\da-f:.]+\]|[\w.~!$&'()*+,;=%-]*)(?::\d*)?$/i;

/** Names and values of headers alternate. */
const isNameOf =
  (name: string) =>
  (part: string, index: number): boolean =>
    index % 2 === 0 && part.length === name.length && part.toLowerCase() === name;

const SHORTER = "What is too long for a URL, GraphQL takes in a body: `POST /graphql`.";
const tooLongUrl = (bytes: number): string =>
  `The URL may have at most ${bytes.toLocaleString("en")} bytes. ${SHORTER}`;
const tooLongMediaTypes = (name: string, bytes: number): string =>
  `The header ${name} may have at most ${bytes.toLocaleString("en")} bytes. Name only the media types that you need.`;
const tooManyHeaders = (count: number): string => `A request may have at most ${count} headers. Send fewer.`;
export const tooLargeHead = (bytes: number): string =>
  `The request line and the headers together may have at most ${bytes.toLocaleString("en")} bytes. ` +
  `Send fewer or shorter headers. ${SHORTER}`;
