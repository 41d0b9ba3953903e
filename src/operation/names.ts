/** GraphQL and code say `createdAt`, REST says `created_at`: the one mapping between the two, both ways. */
export const snakeCase = (name: string): string => name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
