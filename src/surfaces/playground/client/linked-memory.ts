const ID = /^[\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12}$/i;

/** The operation that reads the memory which the page's address names, as in `/graphql?memory=<id>`. */
export function linkedMemory(search: string): string | undefined {
  const id = new URLSearchParams(search).get("memory") ?? "";
  return ID.test(id) ? documentFor(id) : undefined;
}

const documentFor = (id: string): string => `# Put your API key below,
#    in the Headers tab,
#    and press the play button.

query Memory {
  memory(id: "${id}") {
    title
    content
    tags
    updatedAt
    relationships {
      type
      direction
      memory { id title }
    }
  }
}
`;
