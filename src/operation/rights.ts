import { routeOf } from "./names.js";
import { type Operation, methodsOf } from "./operation.js";
import type { TeamRole } from "./context.js";
import type { Relation } from "./relation.js";
import { isAtLeast } from "./standing.js";

/** Who may ask: somebody in the team by their role, somebody who is not in it, somebody without a key. */
export const ASKERS = ["owner", "admin", "member", "outsider", "nobody"] as const;
export type Asker = (typeof ASKERS)[number];

/** What an asker is told before anything depends on the state of things; an admin is `role_too_small` for an owner's. */
export type Right = "yes" | "unauthorized" | "not_found" | "role_too_small";

interface Guarded extends Pick<Operation, "permission"> {
  readonly team?: { readonly role: TeamRole } | undefined;
}

/** Who may do an operation or follow a relation, as it declares it. The key's scope comes on top. */
export function rightOf({ permission, team }: Guarded, asker: Asker): Right {
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

const RELATIONS = `
Fields by which GraphQL leads on from what one sees. One that is refused is null, with an error that says why.
`;

/** The whole table of rights in Markdown, for people to read. */
export function rightsTable(operations: readonly Operation[], relations: readonly Relation[]): string {
  const head = ["Operation", "REST", "Scope", "Owner", "Admin", "Member", "Outsider", "No key"];
  const rows = operations.map((operation) => {
    const { name, rest, permission } = operation;
    const [, path = ""] = routeOf(rest).split(" ");
    return [name, `\`${methodsOf(rest).join(", ")} ${path}\``, permission, ...rightsOf(operation)];
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
