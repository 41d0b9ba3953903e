import type { IncomingMessage } from "node:http";
import { BlockList, isIP } from "node:net";
import type { Request } from "express";
import { networkOf } from "../operation/network.js";
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
 * Warns of what makes the limits of one address hold for all clients together, or lets a client pretend any address: a
 * proxy passes on requests although none is configured, or `X-Forwarded-For` does not have the configured number of
 * addresses. Most clients do not write it themselves, so it has as many as the proxies add.
 */
export class ProxyWarnings {
  readonly #log: Logger;
  readonly #trustedProxies: number;
  #withMoreInARow = 0;

  constructor({ log, trustedProxies }: { readonly log: Logger; readonly trustedProxies: number }) {
    this.#log = log;
    this.#trustedProxies = trustedProxies;
  }

  look({ headers, socket }: IncomingMessage): void {
    const trusted = this.#trustedProxies;
    const sender = socket.remoteAddress ?? "";
    const given = headers["x-forwarded-for"];
    // As Express counts them.
    const addresses = String(given ?? "")
      .split(",")
      .filter((address) => address.trim() !== "").length;
    // A proxy has an internal address. Others may be of clients, which the log never names.
    const isProxy = () => isInternal(sender);
    const warn = (kind: string, message: string) =>
      warnSeldom(this.#log, kind, { ...(isProxy() && { proxy: sender }), addresses }, message);
    if (trusted === 0) {
      // Clients may write such headers themselves.
      const isPassedOn = given !== undefined || headers["forwarded"] !== undefined;
      if (isPassedOn && isProxy()) warn("proxy", UNTRUSTED);
    } else if (addresses === 0) warn("proxy without address", UNTOLD);
    else if (addresses < trusted) warn("proxy with fewer addresses", FEWER);
    this.#withMoreInARow = trusted > 0 && addresses > trusted ? this.#withMoreInARow + 1 : 0;
    if (this.#withMoreInARow > MORE_IN_A_ROW) warn("proxy with more addresses", MORE);
  }
}

/** So many requests in a row are hardly all of clients that write the header themselves. */
const MORE_IN_A_ROW = 100;

const UNTRUSTED =
  "a proxy passes on requests, but TRUSTED_PROXIES is 0, so all clients together have the limits of one address: set " +
  "it to how many addresses your proxies add to X-Forwarded-For, which is mostly one each";

const UNTOLD =
  "requests come without X-Forwarded-For, though TRUSTED_PROXIES is set, so all clients together have the limits of " +
  "one address: let each proxy add the address that it sees, in nginx by `proxy_set_header X-Forwarded-For " +
  "$proxy_add_x_forwarded_for`";

const FEWER =
  "requests come with fewer addresses in X-Forwarded-For than TRUSTED_PROXIES says, so that a client can pretend any " +
  "address: set it to how many addresses your proxies add, or let each proxy keep those that come from your own proxies";

const MORE =
  `more than ${MORE_IN_A_ROW} requests in a row came with more addresses in X-Forwarded-For than TRUSTED_PROXIES says. ` +
  "If your proxies add them, and not a client itself, all clients together have the limits of one address: " +
  "docs/operations.md says how many each proxy adds";

const INTERNAL = new BlockList();
for (const subnet of [
  "10.0.0.0/8",
  "100.64.0.0/10",
  "127.0.0.0/8",
  "169.254.0.0/16",
  "172.16.0.0/12",
  "192.168.0.0/16",
  "::1/128",
  "fc00::/7",
  "fe80::/10",
]) {
  const [network = "", bits] = subnet.split("/");
  INTERNAL.addSubnet(network, Number(bits), isIP(network) === 4 ? "ipv4" : "ipv6");
}

function isInternal(address: string): boolean {
  // Writes an IPv4 address that is mapped into IPv6 as IPv4.
  const network = networkOf(address);
  return isIP(network) === 4 ? INTERNAL.check(network, "ipv4") : INTERNAL.check(address, "ipv6");
}
