/** The name in REST and of a column, `created_at`, of what GraphQL and code call `createdAt`. */
export const snakeCase = (name: string): string => name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);

/** The REST routes of operations, by their names in code: `POST /teams` for `createTeam`. */
export type Routes = ReadonlyMap<string, string>;

/** A path as documentation shows it: `/teams/{team_id}`. */
export const shownPath = (path: string): string => path.replaceAll(/:(\w+)/g, "{$1}");

/** A route as documentation shows it: `GET /teams/{team_id}`. */
export const routeOf = ({ method, path }: { readonly method: string; readonly path: string }): string =>
  `${method} ${shownPath(path)}`;

/** Replaces the names of fields and operations in backticks by their names in REST. */
export const inRestNames = (text: string, routes?: Routes): string =>
  text.replace(/`([a-z]+[A-Za-z]*)`/g, (_quoted, name: string) => `\`${routes?.get(name) ?? snakeCase(name)}\``);
