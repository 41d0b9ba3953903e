/** Google ignores dots before the @. */
const DOTLESS_DOMAINS: ReadonlySet<string> = new Set(["gmail.com", "googlemail.com"]);

/**
 * The inbox of an address, for counting the mails to one person: most servers ignore a label after a plus sign, so all
 * such addresses count as one. Only for counting: different addresses always belong to different users.
 */
export function mailboxOf(email: string): string {
  const at = email.lastIndexOf("@");
  const domain = email.slice(at + 1);
  const [name = ""] = email.slice(0, at).split("+", 1);
  const local = name === "" ? email.slice(0, at) : name;
  return `${DOTLESS_DOMAINS.has(domain) ? local.replaceAll(".", "") : local}@${domain}`;
}
