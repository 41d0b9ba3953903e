import { describe, expect, it } from "vitest";
import { noticeMail } from "../../../src/features/mail/notice-mail.js";
import { invitationMail } from "../../../src/features/mail/invitation-mail.js";
import { nameForSubject, nameForText } from "../../../src/features/mail/names.js";

const LINKS = [
  "https://evil.example",
  "HTTP://EVIL",
  "Visit evil.com now",
  "www.evil",
  "WWW evil www. evil",
  "evil.com/path?x=1",
  "sub.evil.co.uk",
  "1.2.3.4",
  "evil\u3002com",
  "evil\uFF0Ecom",
  "evil\uFF61com",
  "evil\u2024com",
  "evil\u200b.com",
  "evil.\u200bcom",
  "evil.\u00adcom",
  "evil\u2060.\u2060com",
  "evil\u034F.\u034Fcom",
  "evil\u200D.\uFE0Fcom",
  "evil.\u3164\u200Dcom",
  "w\u200Dww\uFE0F,evil",
  "علی\u200C.\u200Cرضا",
  "\u202Emoc.live",
  "bücher.example",
  "пример.рф",
  "例え.テスト",
  "mailto:eve@evil.com",
  "eve@evil",
  "tel:+15551234",
  "javascript:alert(1)",
  "//evil/path",
  "\\\\evil\\share",
  "skype:eve?call",
  "Call +1 (800) 555-1234",
  "555-1234",
  "A.B. Corp evil.com",
  "xn--e1afmkfd.xn--p1ai",
  "=?utf-8?q?evil=2Ecom?=",
  "=?UTF-8?B?aHR0cHM6Ly9ldmlsLmNvbQ==?=",
];

const PLAIN = [
  "Platform",
  "R&D / Ops",
  "Ann O'Hara",
  "Team 42",
  "Class of 202612",
  "Ops: night shift",
  "Größe",
  "開発チーム",
  "Acme Inc.",
  "C++",
  "wwweb",
  "👩\u200D👩\u200D👧\u200D👦 Ann ❤\uFE0F",
  "❤\uFE0F\u200D🔥👩🏽\u200D💻",
  "葛\u{E0100}城",
  "श्री\u200Cमान् क्\u200Dष",
];

it.each(LINKS)(
  "keeps the name %j out of a subject, and shows it in the text so that it cannot become a link",
  (name) => {
    expect(nameForSubject(name)).toBeNull();
    const text = nameForText(name);
    expect(text).not.toMatch(/[\p{L}\p{N}][.\u2024\u3002\uFF0E\uFF61]+[\p{L}\p{N}]|:\/\/|(?<!\[)@/u);
  },
);

it.each(PLAIN)("leaves the name %j as it is", (name) => {
  expect([nameForSubject(name), nameForText(name)]).toEqual([name, name]);
});

it.each(["פלטפורמה", "فريق 42", "𞤀𞤣", "علی\u200Cرضا"])("isolates the name %j, written from right to left", (name) => {
  expect(nameForText(name)).toBe(`\u2068${name}\u2069`);
});

describe("the mail of an invitation", () => {
  const invitation = {
    role: "member",
    expiresAt: new Date("2026-03-09T23:01:53.000Z"),
    token: "t",
    teamName: "Platform",
    inviterName: "Ann",
    inviterEmail: "ann@example.com",
  } as const;

  it.each([
    [{}, "Ann (ann@example.com) invites you to the team Platform"],
    [{ inviterName: null }, "ann@example.com invites you to the team Platform"],
    [{ teamName: "evil.com" }, "Ann (ann@example.com) invites you to a team on Memory Graph"],
    [{ inviterName: "https://evil" }, "ann@example.com invites you to the team Platform"],
    [{ inviterEmail: "evil.com/x@example.com" }, "You are invited to the team Platform"],
    [{ inviterEmail: "evil.com?x@example.com" }, "You are invited to the team Platform"],
    [{ inviterEmail: "x!@evil.com" }, "You are invited to the team Platform"],
    [
      { inviterEmail: "www.evil.com@example.com", teamName: "www.evil.com" },
      "You are invited to a team on Memory Graph",
    ],
  ])("has a subject without links for %j", (change, subject) => {
    expect(invitationMail({ ...invitation, ...change }, "https://memory.example.com").subject).toBe(subject);
  });

  it.each([
    ["//evil.com/x@example.com", "//evil[.]com/x@example[.]com"],
    ["www.evil.com@example.com", "www[.]evil[.]com@example[.]com"],
    ["evil.com?x@example.com", "evil[.]com?x@example[.]com"],
    ["x!evil.com#x@example.com", "x!evil[.]com#x@example[.]com"],
    ["x!@evil.com", "x!@evil[.]com"],
    ["+@evil.com", "+@evil[.]com"],
    ["a@example.com", "a@example.com"],
    ["ann.lee+o_b-c@example.com", "ann.lee+o_b-c@example.com"],
  ])("shows the address %j in its text so that it cannot become a link", (inviterEmail, shown) => {
    const { text, html } = invitationMail({ ...invitation, inviterEmail }, "https://m.example");
    for (const form of [text, html]) expect(form).toContain(`Ann (${shown}) invites you`);
  });

  it("links only to the invitation, as text and as HTML", () => {
    const letter = invitationMail(
      { ...invitation, teamName: "evil.com", inviterName: "x https://evil.org" },
      "https://m.example",
    );
    for (const form of [letter.text, letter.html]) {
      expect(form).not.toMatch(/evil\.(com|org)|:\/\/evil/);
      expect(new Set(form.match(/https?:\/\/[^/\s"<]+/g))).toEqual(new Set(["https://m.example"]));
    }
  });
});

it("links in a notice only a paragraph that is an address alone", () => {
  const link = "https://pay.example/1";
  const body = `Pay here:\n\n${link}\n\nNot at ${link} or elsewhere.\n`;
  const { html, text } = noticeMail({ subject: "A notice", body }, "https://memory.example.com");

  expect(html.match(/<a href="[^"]*"/g)).toEqual([`<a href="${link}"`]);
  for (const form of [text, html]) expect(form).toContain("comes from Memory Graph at https://memory.example.com.");
});
