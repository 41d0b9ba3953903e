/** The groups of paths in the documentation, by the first part of a path. */
export const SUBJECTS = [
  {
    name: "Memories",
    parts: ["memories", "activity", "graph", "export"],
    description: "Notes of many kinds: store, find and follow them.",
  },
  {
    name: "Relationships",
    parts: ["relationships", "relationship-types"],
    description: "Typed links from one memory to another.",
  },
  { name: "Teams", parts: ["teams"], description: "Teams share a graph: their members and invitations." },
  { name: "Billing", parts: ["billing"], description: "The team's subscription." },
  { name: "Access", parts: ["signup", "me", "keys", "users"], description: "Signing up, the caller, the API keys." },
  { name: "Health", parts: ["healthz", "readyz"], description: "For supervisors and load balancers." },
];

export function subjectOf(path: string): string {
  const [part = ""] = path
    .replace(/^\/v1\//, "/")
    .slice(1)
    .split("/");
  return SUBJECTS.find(({ parts }) => parts.includes(part))?.name ?? part;
}
