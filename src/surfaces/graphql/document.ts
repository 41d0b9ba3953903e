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
 * Looks at a document before it is parsed and checked. What is unknown in it is compared with every known name, letter
 * by letter, so names must be short before that. Whether it is GraphQL at all is for the parser to say.
 * @throws InvalidInput when it is too large, or a name in it too long.
 */
export function assertDocumentFits(source: string): void {
  if (Buffer.byteLength(source) > documentBytes) {
    throw refusal(`The document is larger than ${documentBytes / 1_024} KiB. Send values as variables.`);
  }
  if (source.length >= lines && source.split(LINE_BREAK, lines + 1).length > lines) {
    throw refusal(`The document has more than ${lines.toLocaleString("en")} lines. Send values as variables.`);
  }
  // Nothing in it can be longer than itself.
  if (source.length > nameLength && hasLongName(source)) {
    throw refusal(`A name in the document is longer than ${nameLength} characters. Use shorter names.`);
  }
}

const refusal = (message: string): InvalidInput => new InvalidInput([{ path: "query", message }]);

function hasLongName(source: string): boolean {
  // Most documents have no run of letters of this length at all, in a name or in a text.
  if (!LONG_WORD.test(source)) return false;
  const lexer = new Lexer(new Source(source));
  try {
    for (let count = 0; count <= tokens && lexer.advance().kind !== TokenKind.EOF; count++) {
      if (lexer.token.kind === TokenKind.NAME && lexer.token.end - lexer.token.start > nameLength) return true;
    }
  } catch {
    // A syntax error: the parser stops at the same place.
  }
  return false;
}

/** As GraphQL counts lines. */
const LINE_BREAK = /\r\n|[\n\r]/;

const LONG_WORD = new RegExp(`(?<!\\w)\\w{${nameLength + 1}}`);

/** Told as GraphQL's own rules tell, beside whatever else is wrong, instead of thrown out of the validation. */
const REPORTED = {
  propagateOnRejection: false,
  onReject: [
    (context: ValidationContext | null, { message }: GraphQLError) =>
      context?.reportError(new GraphQLError(message.replace("Syntax Error: ", ""))),
  ],
};

/** How many fragments a document defines, and how many directives it uses. */
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

/** Rules that a document must keep beside GraphQL's own; a document is checked once and then remembered. */
export const documentRules: ValidationRule[] = [
  countRule,
  literalsRule,
  maxDepthRule({ n: depth, flattenFragments: true, ...REPORTED }),
  maxAliasesRule({ n: aliases, allowList: [], ...REPORTED }),
];
