import { shownPath } from "./names.js";
import { type Operation, methodsOf } from "./operation.js";
import { TEAM_ROLES, type TeamRole } from "./context.js";
import type { Relation } from "./relation.js";
import { isAtLeast } from "./standing.js";

/** The kinds of callers: a member of the team by role, somebody outside it, somebody without a key. */
export const ASKERS = [...TEAM_ROLES, "outsider", "nobody"] as const;
export type Asker = (typeof ASKERS)[number];

/** The answer by the declaration alone, whatever the data. An admin gets `role_too_small` where only an owner may. */
export type Right = "yes" | "unauthorized" | "not_found" | "role_too_small";

interface Guarded extends Pick<Operation, "permission"> {
  readonly team?: { readonly role: TeamRole } | undefined;
}

/** Who may use an operation or relation, by its declaration. The key also needs the scope. */
export function rightOf({ permission, team }: Guarded, asker: Asker): Right {
  if (permission === "public") return "yes";
  if (asker === "nobody") return "unauthorized";
  if (!team) return "yes";
  if (asker === "outsider") return "not_found";
  return isAtLeast(asker, team.role) ? "yes" : "role_too_small";
}

const HEADS: Readonly<Record<Asker, string>> = {
  owner: "Owner",
  admin: "Admin",
  member: "Member",
  outsider: "Outsider",
  nobody: "No key",
};

const SHOWN: Readonly<Record<Right, string>> = {
  yes: "yes",
  unauthorized: "401",
  not_found: "404",
  role_too_small: "403",
};

const INTRODUCTION = `# Who may do what

Generated from the operations by \`npm run contract\`; do not edit it. A caller is allowed (yes) or refused: 401 without
a key, 403 if the role in the team is too small, 404 for somebody who is not in the team, as if the team did not exist.
The API key also needs the scope; without it the answer is 403.

A caller who is allowed may still be refused because of the data: the owner cannot leave the team, and only the invited
person can answer an invitation. Memories and relationships need no role: everybody works on their own graph, and
members also on their team's graph, into which \`shareMemories\` moves memories; without a team there is none (404).
`;

const RELATIONS = `
Relations: GraphQL fields that lead to other objects. A refused one is null, with an error that says why.
`;

/** The tables of rights in Markdown, for documentation. */
export function rightsTable(operations: readonly Operation[], relations: readonly Relation[]): string {
  const head = ["Operation", "REST", "Scope", ...ASKERS.map((asker) => HEADS[asker])];
  const rows = operations.map((operation) => {
    const { name, rest, permission } = operation;
    return [name, `\`${methodsOf(rest).join(", ")} ${shownPath(rest.path)}\``, permission, ...rightsOf(operation)];
  });
  const fields = relations.map((relation) => {
    const field = `\`${relation.of.name}.${relation.name}\``;
    return [field, relation.permission, ...rightsOf(relation)];
  });
  const ofFields = ["Field", ...head.slice(2)];
  return `${INTRODUCTION}\n${tableOf(head, rows)}${RELATIONS}\n${tableOf(ofFields, fields)}`;
}

const rightsOf = (guarded: Guarded): string[] => ASKERS.map((asker) => SHOWN[rightOf(guarded, asker)]);

const tableOf = (head: readonly string[], rows: readonly (readonly string[])[]): string =>
  [head, head.map(() => "---"), ...rows].map((cells) => `| ${cells.join(" | ")} |\n`).join("");
