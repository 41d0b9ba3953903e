import dns from "node:dns";
import type { IncomingMessage } from "node:http";
import https from "node:https";
import { BlockList, type LookupFunction, type TcpNetConnectOpts, isIP } from "node:net";
import { Readable } from "node:stream";

/**
 * Which addresses do not belong to the public web, by family: the registries of IANA for special purposes and multicast.
 * Of IPv6, only 2000::/3 does.
 */
const INTERNAL: Readonly<Record<number, BlockList>> = {
  4: networks("ipv4", [
    "0.0.0.0/8",
    "10.0.0.0/8",
    "100.64.0.0/10",
    "127.0.0.0/8",
    "169.254.0.0/16",
    "172.16.0.0/12",
    "192.0.0.0/24",
    "192.0.2.0/24",
    "192.31.196.0/24",
    "192.52.193.0/24",
    "192.88.99.0/24",
    "192.168.0.0/16",
    "192.175.48.0/24",
    "198.18.0.0/15",
    "198.51.100.0/24",
    "203.0.113.0/24",
    "224.0.0.0/3",
  ]),
  6: networks("ipv6", [
    "::/3",
    "4000::/2",
    "8000::/1",
    "2001::/23",
    "2001:db8::/32",
    "2002::/16",
    "2620:4f:8000::/48",
    "3fff::/20",
  ]),
};

function networks(family: "ipv4" | "ipv6", prefixes: readonly string[]): BlockList {
  const list = new BlockList();
  for (const prefix of prefixes) {
    const [network = "", bits] = prefix.split("/");
    list.addSubnet(network, Number(bits), family);
  }
  return list;
}

/** Finds only public addresses, so that nothing is sent to others: the connection goes to one that was found. */
const lookUpPublic: LookupFunction = (host, options, done) => {
  dns.lookup(host, { ...options, all: true }, (error, found) => {
    if (error) return done(error, []);
    const open = found.filter(
      ({ address, family }) => INTERNAL[family]?.check(address, `ipv${family as 4 | 6}`) === false,
    );
    done(open.length > 0 ? null : new Error(`${host} leads to no public address`), open);
  });
};

/** Firewalls of sites often refuse programs without a name, and oidc-provider gives none. */
const OURS = { "accept-encoding": "identity", "user-agent": "memory-graph-gateway" };

/**
 * Reads what a site that anybody may name sends at an `https:` address. `fetch` would decompress it: it asks for Brotli,
 * and does as the site says in any case. Node's decoder let a site take over the process (CVE-2026-111497), which
 * version 20 keeps.
 * @throws Error unless the host is a name that leads to a public address, the status is 200, and nothing is compressed.
 */
export async function readPublic(url: string, { headers, signal }: RequestInit): Promise<Response> {
  // Node looks up nothing for an address.
  const { hostname } = new URL(url);
  if (isIP(hostname) || hostname.startsWith("[")) throw new Error(`${hostname} is no name`);
  const answer = await answerOf(url, {
    headers: { ...Object.fromEntries(new Headers(headers)), ...OURS },
    ...(signal && { signal }),
    // Each connection is looked up, and for one request.
    agent: false,
    lookup: lookUpPublic,
    autoSelectFamily: true,
  });
  const { statusCode, headers: received } = answer;
  const coding = received["content-encoding"] ?? "identity";
  if (statusCode !== 200 || coding !== "identity") {
    answer.destroy();
    throw new Error(`the status is ${statusCode}, the coding ${coding}`);
  }
  const pairs = Object.entries(received).map(([name, value]): [string, string] => [name, String(value)]);
  return new Response(Readable.toWeb(answer) as ReadableStream<Uint8Array>, { headers: pairs });
}

/** The types of Node's HTTPS lack one of the options that it passes on to the connection. */
type Options = https.RequestOptions & Pick<TcpNetConnectOpts, "autoSelectFamily">;

function answerOf(url: string, options: Options): Promise<IncomingMessage> {
  return new Promise((resolve, reject) => {
    const request = https.get(url, options, resolve).on("error", reject);
    // Without an answer or an error, as if the site changes to another protocol.
    request.on("close", () => reject(new Error("the connection ended without an answer")));
  });
}
