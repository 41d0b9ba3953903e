import type { IncomingMessage } from "node:http";
import { BlockList, isIP } from "node:net";
import type { Request } from "express";
import { networkOf } from "../operation/budget.js";
import type { Logger } from "../platform/telemetry/logger.js";
import { warnSeldom } from "../platform/telemetry/warn-seldom.js";

/**
 * The client's address, as the first trusted proxy wrote it into `X-Forwarded-For`. Some proxies, such as Azure's
 * Application Gateway, write the client's port behind it, and IPv6 in brackets.
 */
export function clientAddressOf({ ip = "" }: Pick<Request, "ip">): string {
  if (isIP(ip) > 0) return ip;
  return ip.replace(/^\[([^\]]*)\](?::\d+)?$/, "$1").replace(/^([\d.]+):\d+$/, "$1");
}

/**
 * Warns of what makes the limits of one address hold for all clients together: a proxy passes on requests although none
 * is configured, or the configured one does not tell the client's address. A proxy has an internal address; other
 * clients may write such headers themselves.
 */
export function warnOfProxy(
  { headers, socket }: IncomingMessage,
  { log, behindProxies }: { readonly log: Logger; readonly behindProxies: boolean },
): void {
  if (behindProxies) {
    if (headers["x-forwarded-for"] === undefined)
      warnSeldom(log, "proxy without address", { proxy: socket.remoteAddress }, UNTOLD);
    return;
  }
  const isPassedOn = headers["x-forwarded-for"] !== undefined || headers["forwarded"] !== undefined;
  if (!isPassedOn || !isInternal(socket.remoteAddress ?? "")) return;
  warnSeldom(log, "proxy", { proxy: socket.remoteAddress }, UNTRUSTED);
}

const UNTRUSTED =
  "a proxy passes on requests, but TRUSTED_PROXIES is 0, so all clients together have the limits of one address: set " +
  "it to the number of your proxies";

const UNTOLD =
  "requests come without X-Forwarded-For, though TRUSTED_PROXIES is set, so all clients together have the limits of " +
  "one address: let each proxy add the address that it sees, in nginx by `proxy_set_header X-Forwarded-For " +
  "$proxy_add_x_forwarded_for`";

const INTERNAL = new BlockList();
for (const subnet of [
  ...["10.0.0.0/8", "100.64.0.0/10", "127.0.0.0/8", "169.254.0.0/16", "172.16.0.0/12", "192.168.0.0/16"],
  ...["::1/128", "fc00::/7", "fe80::/10"],
]) {
  const [network = "", bits] = subnet.split("/");
  INTERNAL.addSubnet(network, Number(bits), isIP(network) === 4 ? "ipv4" : "ipv6");
}

function isInternal(address: string): boolean {
  // Writes an IPv4 address that is mapped into IPv6 as IPv4.
  const network = networkOf(address);
  return isIP(network) === 4 ? INTERNAL.check(network, "ipv4") : INTERNAL.check(address, "ipv6");
}
