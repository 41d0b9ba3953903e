import type { Router } from "express";
import { routeOf } from "../../operation/names.js";
import { type Operation, methodsOf } from "../../operation/operation.js";
import { type Permission, SCOPES, SCOPE_DESCRIPTIONS } from "../../operation/permission.js";
import { type Html, html, prose } from "../../platform/html.js";
import { onFirstUse } from "../../platform/on-first-use.js";
import { documentationRoute, tableOf } from "./layout.js";

/** A page of the scopes of keys, and of the scope and role that each operation needs. */
export const accessPage = (operations: readonly Operation[]): Router =>
  documentationRoute(
    "/docs/access",
    "Access",
    onFirstUse(() => bodyOf(operations)),
  );

const ROLES = {
  owner: "the owner",
  admin: "an admin, or the owner",
  member: "any member",
} as const;

const scopeNeeded = (permission: Permission): Html => {
  if (permission === "public") return html`no key needed`;
  if (permission === "any") return html`any key`;
  return permission === "all" ? html`every scope` : html`<code>${permission}</code>`;
};

const bodyOf = (operations: readonly Operation[]): Html =>
  html`<p>
      What a request may do is decided twice: by the scopes of its API key, and by the role of the key's user in the
      team. A key without the scope gets <a href="./errors#forbidden">403</a> with the reason
      <code>scope_missing</code>, a user whose role is too small gets 403 with <code>role_too_small</code>. A user who
      is not in the team gets 404, as if the team did not exist. By MCP a key without the scope is not shown the tool.
    </p>
    <h2>Scopes</h2>
    <p>A new key gets the scopes that are requested, at most those of the key that creates it.</p>
    <dl>
      ${SCOPES.map(
        (scope) =>
          html`<dt><code>${scope}</code></dt>
            <dd>${SCOPE_DESCRIPTIONS[scope]}</dd>`,
      )}
    </dl>
    <h2>Operations</h2>
    <p>
      Memories and relationships need no role: every member of a team works on the team's graph, and a user without a
      team on their own graph.
    </p>
    ${tableOf(["GraphQL", "REST", "MCP", "Scope", "Role", "What it does"], operations.map(rowOf))}`;

const rowOf = ({ name, kind, summary, rest, mcp, permission, team }: Operation) => ({
  id: name,
  cells: [
    html`<span class="aside">${kind}</span> <code>${name}</code>`,
    methodsOf(rest).map((method) => html`<div>${breakable(routeOf({ ...rest, method }))}</div>`),
    mcp ? html`<code>${mcp.name}</code>` : "none",
    scopeNeeded(permission),
    team ? ROLES[team.role] : "none",
    prose(summary),
  ],
});

/** A route as code, with line breaks allowed between the parts of its path. */
const breakable = (route: string): Html =>
  html`<code>${route.split("/").map((part, index) => (index === 0 ? part : html`<wbr />/${part}`))}</code>`;
