import type { IncomingMessage } from "node:http";
import { BlockList, isIP } from "node:net";
import type { Request } from "express";
import { networkOf } from "../operation/budget.js";
import type { Logger } from "../platform/logger.js";
import { warnSeldom } from "../platform/warn-seldom.js";

/**
 * The client's address, as the first trusted proxy wrote it into `X-Forwarded-For`. Some proxies, such as Azure's
 * Application Gateway, write the client's port behind it, and IPv6 in brackets.
 */
export function clientAddressOf({ ip = "" }: Pick<Request, "ip">): string {
  if (isIP(ip) > 0) return ip;
  return ip.replace(/^\[([^\]]*)\](?::\d+)?$/, "$1").replace(/^([\d.]+):\d+$/, "$1");
}

/**
 * Warns that a proxy passes on requests although none is configured: then the limits of one address hold for all
 * clients together. A proxy has an internal address; other clients may write such headers themselves.
 */
export function warnOfProxy({ headers, socket }: IncomingMessage, log: Logger): void {
  const isPassedOn = headers["x-forwarded-for"] !== undefined || headers["forwarded"] !== undefined;
  if (!isPassedOn || !isInternal(socket.remoteAddress ?? "")) return;
  warnSeldom(log, "proxy", { proxy: socket.remoteAddress }, UNTRUSTED);
}

const UNTRUSTED =
  "a proxy passes on requests, but TRUSTED_PROXIES is 0, so all clients together have the limits of one address: set " +
  "it to the number of your proxies";

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
