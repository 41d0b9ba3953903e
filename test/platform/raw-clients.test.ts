import { type Socket, connect } from "node:net";
import { setImmediate as nextTurn } from "node:timers/promises";
import { expect, it } from "vitest";
import { type Chance, chanceOf, oneOf, whole } from "../bench/text.js";
import { roundsOf } from "../support/rounds.js";
import { startServerProcess } from "../support/server-process.js";
import { openConnection, nextAnswer } from "../support/socket.js";
import { createWorld } from "../support/world.js";

const GET = "GET /healthz HTTP/1.1\r\nHost: a\r\n";
const POST = "POST /graphql HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\n";
const QUERY = '{"query":"{ __typename }"}';

/** Requests, parts of requests, and what is none. */
const PIECES = [
  `${GET}\r\n`,
  `${GET}\r\n`.repeat(40),
  `${GET}Connection: close\r\n\r\n`,
  GET.repeat(3),
  "GET /docs HTTP/1.0\r\n\r\n",
  "GET /openapi.json HTTP/1.1\r\nHost: a\r\n\r\n",
  "HEAD /docs HTTP/1.1\r\nHost: a\r\n\r\n",
  "CONNECT a:80 HTTP/1.1\r\nHost: a\r\n\r\n",
  "OPTIONS * HTTP/1.1\r\nHost: a\r\n\r\n",
  "TRACE / HTTP/1.1\r\n\r\n",
  `${GET}Connection: upgrade\r\nUpgrade: websocket\r\n\r\n`,
  "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
  `${POST}Content-Length: ${QUERY.length}\r\n\r\n${QUERY}`,
  `${POST}Content-Length: 99\r\n\r\n{`,
  QUERY,
  `${POST}Transfer-Encoding: chunked\r\n\r\n5\r\n{"que\r\n`,
  `${POST}Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n`,

  `${POST}Transfer-Encoding: chunked\r\nContent-Length: 5\r\n\r\n0\r\n\r\n`,
  "5\r\n12345\r\n0\r\n\r\n",
  "\r\n\r\n",
  "\0\0",
  `${POST}Expect: 100-continue\r\nContent-Length: ${QUERY.length}\r\n\r\n`,
  `${POST}Expect: 200-ok\r\n\r\n`,
  `${GET}X: ${"x".repeat(9_000)}\r\n\r\n`,
  "x".repeat(20_000),
];

/** A client that sends up to six pieces, some of them incomplete, and leaves in one of three ways. */
async function misbehave(port: number, chance: Chance, number: number): Promise<void> {
  // An address may have few connections.
  const from = { port, host: "127.0.0.1", localAddress: `127.0.0.${2 + (number % 200)}` };
  const client = connect({ ...from, allowHalfOpen: chance() < 0.5 }).on("error", () => {});
  if (chance() < 0.8) client.resume();
  for (let left = 1 + whole(chance, 6); left > 0; left--) {
    const piece = oneOf(chance, PIECES);
    client.write(chance() < 0.15 ? piece.slice(0, whole(chance, piece.length)) : piece);
    for (let turns = whole(chance, 30); turns > 0; turns--) await nextTurn();
  }
  oneOf<(socket: Socket) => unknown>(chance, [
    (socket) => socket.resetAndDestroy(),
    (socket) => socket.destroy(),
    (socket) => socket.end(() => socket.destroy()),
  ])(client);
}

/** What a client got instead of the answers to its own requests, each of which it sends in two parts. */
async function wrongAnswers(url: string, isOver: () => boolean): Promise<string[]> {
  const wrong: string[] = [];
  for (let number = 0; !isOver(); number++) {
    const client = openConnection(url);
    for (const part of ["first", "second", "third"]) {
      const id = `${part}-${number}`;
      client.write("GET /heal");
      for (let turns = number % 20; turns > 0; turns--) await nextTurn();
      client.write(`thz HTTP/1.1\r\nHost: a\r\nX-Request-Id: ${id}\r\n\r\n`);
      const answer = client.closed ? "" : await nextAnswer(client);
      if (!answer.startsWith("HTTP/1.1 200 OK\r\n") || !answer.includes(`\r\nX-Request-Id: ${id}\r\n`))
        wrong.push(answer);
    }
    client.destroy();
    if (wrong.length > 2) break;
  }
  return wrong;
}

it.skipIf(process.platform !== "linux")(
  "gives each client the answers to its own requests, whatever others send, and however these leave",
  async () => {
    await using world = await createWorld();
    await using server = await startServerProcess({ DATABASE_URL: world.databaseUrl });
    const port = Number(new URL(server.url).port);
    let isOver = false;
    const clients = Array.from({ length: 16 }, () => wrongAnswers(server.url, () => isOver));

    const others = Array.from({ length: 8 }, async (_, other) => {
      const chance = chanceOf(other, Number(process.env["SEED"] ?? 1));
      for (let round = roundsOf(1_000); round > 0 && server.child.exitCode === null; round--) {
        await misbehave(port, chance, 8 * round + other);
        // The system resets connections beyond those that wait to be accepted. They are accepted in order.
        if (round % 8 !== 0) continue;
        const next = openConnection(server.url);
        next.write(`${GET}\r\n`);
        await nextAnswer(next);
        next.destroy();
      }
    });
    await Promise.all(others);
    isOver = true;

    expect((await Promise.all(clients)).flat()).toEqual([]);
    expect(server.child.exitCode).toBeNull();
  },
);
