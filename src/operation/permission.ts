/** What an API key can be allowed to do. A key's effective permission is its scopes within its user's team role. */
export const SCOPE_DESCRIPTIONS = {
  "memories:read": "Read memories and relationships.",
  "memories:write": "Store, change and delete memories and relationships.",
  "teams:read": "Read the team, its members and its invitations.",
  "teams:write": "Change the team, its members and its invitations.",
  "billing:read": "Read the team's subscription.",
  "billing:write": "Buy, upgrade and cancel the team's subscription.",
  "keys:write": "List, create, replace and revoke API keys.",
};
export type Scope = keyof typeof SCOPE_DESCRIPTIONS;
// `Object.keys` returns strings, since an object may have more keys than its type; this literal has no others.
export const SCOPES = Object.keys(SCOPE_DESCRIPTIONS) as readonly Scope[];

/** A scope; or `any`: every valid key is enough, `all`: the key needs every scope, `public`: no key is needed. */
export type Permission = Scope | "any" | "all" | "public";

/** The scopes that a key must have. */
export function scopesOf(permission: Permission): readonly Scope[] {
  if (permission === "any" || permission === "public") return [];
  return permission === "all" ? SCOPES : [permission];
}
