import { expect, it } from "vitest";
import { ask } from "../support/http.js";
import { createWorld } from "../support/world.js";

const LONG = "a".repeat(200_000);
const FORM = "application/x-www-form-urlencoded";

const FORMS: ReadonlyArray<readonly [name: string, type: string, body: string]> = [
  ["nothing", FORM, ""],
  ["a code alone", FORM, "code=12345678"],
  ["an answer that there is not", FORM, "code=12345678&answer=perhaps"],
  ["fields twice", FORM, "code=1&code=2&answer=accept&answer=decline"],
  ["names in brackets", FORM, "code[__proto__][x]=1&answer[]=accept"],
  ["a long code", FORM, `code=${LONG}&answer=accept`],
  ["a code of spaces", FORM, `code=${"+".repeat(200_000)}&answer=accept`],
  ["many fields", FORM, Array.from({ length: 50_000 }, (_, n) => `f${n}=1`).join("&")],
  ["broken escapes", FORM, "code=%zz%ff%&answer=accept"],
  ["NUL and surrogates", FORM, "code=%00%ed%a0%80&answer=accept"],
  ["another encoding", `${FORM}; charset=utf-16`, "code=1&answer=accept"],
  ["parts", "multipart/form-data; boundary=x", `--x\r\nContent-Disposition: form-data; name="code"\r\n\r\n1\r\n--x--`],
  ["JSON", "application/json", '{"code":"1","answer":"accept"}'],
  ["more than a body may have", FORM, "a".repeat(1_048_577)],
];

it.each(FORMS)(
  "refuses a form of %s on the pages of an invitation, of a checkout and of a team",
  async (_name, type, body) => {
    await using world = await createWorld();
    const { url } = await world.serve();

    const invitation = ["/invitations/nothing/answer", "/invitations/nothing/code"];
    for (const path of [...invitation, "/billing/return?session_id=x", "/account/code", "/account/sign-in"]) {
      const { status } = await ask(url + path, { method: "POST", body, headers: { "content-type": type } });
      expect([path, status >= 400 && status < 500]).toEqual([path, true]);
    }
    expect(world.bugs).toEqual([]);
  },
);

const CHAINS: ReadonlyArray<readonly [name: string, value: string]> = [
  ["a thousand addresses", Array.from({ length: 1_000 }, (_, n) => `10.0.${n >> 8}.${n & 255}`).join(",")],
  ["an address with a zone", "fe80::1%eth0"],
  ["an address with a long zone", `fe80::1%${"a".repeat(8_000)}`],
  ["addresses in other spellings", "::ffff:10.0.0.1, 0:0:0:0:0:0:0:1, [::1]:80, 10.0.0.1:80"],
  ["no address", "unknown, _hidden, ', <script>"],
  ["commas", ",".repeat(8_000)],
  ["dots and digits", "1.".repeat(4_000)],
  ["colons", ":".repeat(8_000)],
];

it.each(CHAINS)("serves clients with the proxy chain %s", async (_name, chain) => {
  await using world = await createWorld();
  const { url } = await world.serve({ TRUSTED_PROXIES: "2" });
  const { key } = await world.user();
  const headers = { "x-forwarded-for": chain };

  const answers = [
    await ask(`${url}/v1/memories`, { key, headers }),
    await ask(`${url}/v1/memories`, { headers }),
    await ask(`${url}/signup`, { body: { email: "ann@example.com" }, headers }),
  ];

  expect(answers.map(({ status }) => status)).toEqual([200, 401, 202]);
  expect(world.bugs).toEqual([]);
});
