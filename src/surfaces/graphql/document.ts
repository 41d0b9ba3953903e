import { maxAliasesRule } from "@escape.tech/graphql-armor-max-aliases";
import { maxDepthRule } from "@escape.tech/graphql-armor-max-depth";
import {
  type ASTVisitor,
  GraphQLError,
  Kind,
  Lexer,
  Source,
  TokenKind,
  type ValidationContext,
  type ValidationRule,
} from "graphql";
import { InvalidInput } from "../../operation/failure.js";
import { LIMITS } from "../../limits.js";
import { literalsRule } from "./literals.js";

const { documentBytes, lines, tokens, depth, aliases, fragments, directives, nameLength } = LIMITS.graphql;

/**
 * Checks the size of a document before it is parsed. Validation compares unknown names with every known one letter by
 * letter, so long names must be refused before it. Invalid GraphQL is left to the parser.
 * @throws InvalidInput when the document is too large, or a name in it is too long.
 */
export function assertDocumentFits(source: string): void {
  if (Buffer.byteLength(source) > documentBytes) {
    throw refusal(`The document is larger than ${documentBytes / 1_024} KiB. Send values as variables.`);
  }
  if (source.split(LINE_BREAK, lines + 1).length > lines) {
    throw refusal(`The document has more than ${lines.toLocaleString("en")} lines. Send values as variables.`);
  }
  if (source.length > nameLength && hasLongName(source)) {
    throw refusal(`A name in the document is longer than ${nameLength} characters. Use shorter names.`);
  }
}

const refusal = (message: string): InvalidInput => InvalidInput.at("query", message);

function hasLongName(source: string): boolean {
  // Fast path: most documents have no word of this length, in a name or in a string.
  if (!LONG_WORD.test(source)) return false;
  const lexer = new Lexer(new Source(source));
  try {
    for (let count = 0; count <= tokens && lexer.advance().kind !== TokenKind.EOF; count++) {
      if (lexer.token.kind === TokenKind.NAME && lexer.token.end - lexer.token.start > nameLength) return true;
    }
  } catch {
    // A syntax error: the parser will report it.
  }
  return false;
}

/** GraphQL's definition of a line break. */
const LINE_BREAK = /\r\n|[\n\r]/;

const LONG_WORD = new RegExp(`(?<!\\w)\\w{${nameLength + 1}}`);

/** Options for a rule to report its error together with all others, as GraphQL's own rules do, instead of throwing. */
const REPORTED = {
  propagateOnRejection: false,
  onReject: [
    (context: ValidationContext | null, { message }: GraphQLError) =>
      context?.reportError(new GraphQLError(message.replace("Syntax Error: ", ""))),
  ],
};

/** Limits how many fragments a document defines, and how many directives it uses. */
function countRule(context: ValidationContext): ASTVisitor {
  const defined = context.getDocument().definitions.filter(({ kind }) => kind === Kind.FRAGMENT_DEFINITION).length;
  let used = 0;
  const report = (message: string) => context.reportError(new GraphQLError(message));
  return {
    Directive: () => {
      used++;
      return undefined;
    },
    Document: {
      leave() {
        if (defined > fragments)
          report(`Fragments limit of ${fragments} exceeded, found ${defined}. Use fewer fragments.`);
        if (used > directives)
          report(`Directives limit of ${directives} exceeded, found ${used}. Use fewer directives.`);
      },
    },
  };
}

/** Validation rules in addition to GraphQL's own. Apollo validates a document once and then caches it. */
export const documentRules: ValidationRule[] = [
  countRule,
  literalsRule,
  maxDepthRule({ n: depth, flattenFragments: true, ...REPORTED }),
  maxAliasesRule({ n: aliases, allowList: [], ...REPORTED }),
];
