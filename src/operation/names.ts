/** GraphQL and code say `createdAt`, REST says `created_at`: the one mapping between the two, both ways. */
export const snakeCase = (name: string): string => name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);

/** How REST calls operations, by their names in code: `POST /teams` for `createTeam`. */
export type Routes = ReadonlyMap<string, string>;

/** How REST calls what is at a path: `GET /teams/{team_id}`. */
export const routeOf = ({ method, path }: { readonly method: string; readonly path: string }): string =>
  `${method} ${path.replaceAll(/:(\w+)/g, "{$1}")}`;

/** A text that names fields and operations in backticks as code does, with the names that they have in REST. */
export const inRestNames = (text: string, routes?: Routes): string =>
  text.replace(/`([a-z]+[A-Za-z]*)`/g, (_quoted, name: string) => `\`${routes?.get(name) ?? snakeCase(name)}\``);
