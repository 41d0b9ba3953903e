import { routeOf } from "./names.js";
import { type Operation, methodsOf } from "./operation.js";
import { isAtLeast } from "./standing.js";

/** Who may ask: somebody in the team by their role, somebody who is not in it, somebody without a key. */
export const ASKERS = ["owner", "admin", "member", "outsider", "nobody"] as const;
export type Asker = (typeof ASKERS)[number];

/** What an asker is told before anything depends on the state of things; an admin is `role_too_small` for an owner's. */
export type Right = "yes" | "unauthorized" | "not_found" | "role_too_small";

/** Who may do an operation, as it declares it. The key's scope comes on top. */
export function rightOf({ permission, team }: Pick<Operation, "permission" | "team">, asker: Asker): Right {
  if (permission === "public") return "yes";
  if (asker === "nobody") return "unauthorized";
  if (!team) return "yes";
  if (asker === "outsider") return "not_found";
  return isAtLeast(asker, team.role) ? "yes" : "role_too_small";
}

const SHOWN: Readonly<Record<Right, string>> = {
  yes: "yes",
  unauthorized: "401",
  not_found: "404",
  role_too_small: "403",
};

const INTRODUCTION = `# Who may do what

Made from the operations by \`npm run contract\`; not to be edited. An asker is let in (yes) or refused: 401 without a
key, 403 when the role in the team is too small, 404 to whoever is not in the team, as if there were none. On top of it
the API key needs the scope; without it the answer is 403.

An asker who is let in may still be refused for the state of things: the owner cannot leave the team, an invitation is
answered by the invited person alone. Memories and relationships need no role: everybody works on their own graph, and
members on their team's as well, into which \`shareMemories\` moves memories.
`;

/** The whole table of rights in Markdown, for people to read. */
export function rightsTable(operations: readonly Operation[]): string {
  const head = ["Operation", "REST", "Scope", "Owner", "Admin", "Member", "Outsider", "No key"];
  const rows = operations.map((operation) => {
    const { name, rest, permission } = operation;
    const [, path = ""] = routeOf(rest).split(" ");
    const rights = ASKERS.map((asker) => SHOWN[rightOf(operation, asker)]);
    return [name, `\`${methodsOf(rest).join(", ")} ${path}\``, permission, ...rights];
  });
  const lines = [head, head.map(() => "---"), ...rows].map((cells) => `| ${cells.join(" | ")} |`);
  return `${INTRODUCTION}\n${lines.join("\n")}\n`;
}
