import { join } from "node:path";
import {
  type CallExpression,
  type ClassDeclaration,
  type Node,
  type ObjectLiteralExpression,
  SyntaxKind,
} from "typescript/unstable/ast";
import * as is from "typescript/unstable/ast/is";
import { API, type Symbol as CodeSymbol, type NodeHandle, type Project, SymbolFlags } from "typescript/unstable/sync";

const DEFINES = /^define(?:Operation|TeamOperation|Relation)$/;
/** What an operation or a relation runs. */
const RUN = new Set(["check", "cost", "limits", "prepare", "handle", "audit", "follow"]);

/** An operation or a relation as the source declares it. */
export interface DeclaredFailures {
  /** Empty if a function makes several relations, whose names it is given. */
  readonly name: string;
  /** Names of the failures that its list names. */
  readonly listed: ReadonlySet<string>;
  /** Names of the failures that it may raise, each with the functions that lead there. */
  readonly raised: ReadonlyMap<string, string>;
}

/**
 * Reads from the source what each operation and relation may raise: every class of failures but CommonFailures that its
 * code names, or a function which that uses. It does not see that a failure is caught on the way, or that a function
 * never raises it for this operation. Services of the platform are not followed: they know no failures.
 */
export function readDeclaredFailures(): DeclaredFailures[] {
  const api = new API({ cwd: process.cwd() });
  try {
    const [project] = api.updateSnapshot({ openProjects: [join(process.cwd(), "tsconfig.json")] }).getProjects();
    if (!project) throw new Error("TypeScript found no project.");
    return new Reader(project).read();
  } finally {
    api.close();
  }
}

/** What a piece of code names: classes of failures, and code that it may run. */
interface Named {
  readonly failures: ReadonlySet<string>;
  readonly code: ReadonlySet<Node>;
}

class Reader {
  readonly #project: Project;
  readonly #named = new Map<Node, Named>();
  readonly #handles = new Map<CodeSymbol, readonly NodeHandle[]>();

  constructor(project: Project) {
    this.#project = project;
  }

  read(): DeclaredFailures[] {
    const { program } = this.#project;
    const names = program.getSourceFileNames().filter((name) => name.includes("/src/features/"));
    const files = names.flatMap((name) => program.getSourceFile(name) ?? []);
    const calls = files.flatMap(nodesIn).filter(is.isCallExpression);
    return calls.filter(({ expression }) => DEFINES.test(expression.getText())).map((call) => this.#readCall(call));
  }

  #readCall({ arguments: [facts] }: CallExpression): DeclaredFailures {
    if (!facts || !is.isObjectLiteralExpression(facts)) throw new Error("A definition has no object with its facts.");
    const values = valuesOf(facts);
    const name = values.get("name");
    const list = values.get("failures");
    return {
      name: name && is.isStringLiteral(name) ? name.text : "",
      listed: new Set(this.#reach(new Map(list && [["failures", list]])).keys()),
      raised: this.#reach(new Map([...values].filter(([key]) => RUN.has(key)))),
    };
  }

  /** The failures that this code can raise, with the names of the functions that lead there. */
  #reach(starts: ReadonlyMap<string, Node>): ReadonlyMap<string, string> {
    const found = new Map<string, string>();
    const ways = new Map(Array.from(starts, ([name, code]) => [code, name]));
    // The loop also visits what is added meanwhile.
    for (const [code, way] of ways) {
      const named = this.#namedIn(code);
      for (const failure of named.failures) if (!found.has(failure)) found.set(failure, way);
      for (const next of named.code) if (!ways.has(next)) ways.set(next, `${way} > ${nameOf(next)}`);
    }
    return found;
  }

  #namedIn(code: Node): Named {
    const known = this.#named.get(code);
    if (known) return known;
    const failures = new Set<string>();
    const used = new Set<Node>();
    const names = nodesIn(code).filter((node) => is.isIdentifier(node) || is.isPrivateIdentifier(node));
    for (const { node, declaration } of this.#declarationsOf(names)) {
      if (isCode(declaration)) used.add(declaration);
      if (!is.isClassDeclaration(declaration)) continue;
      const base = this.#failureBase(declaration);
      if (base === "Failure") failures.add(nameOf(declaration));
      if (!base && is.isNewExpression(node.parent)) {
        for (const member of declaration.members.filter(isRunByNew)) used.add(member);
      }
    }
    const named = { failures, code: used };
    this.#named.set(code, named);
    return named;
  }

  /** Which of the two base classes of failures a class has, if any. */
  #failureBase(declared: ClassDeclaration): string | undefined {
    const name = nameOf(declared);
    if (name === "Failure" || name === "CommonFailure") return name;
    const bases = declared.heritageClauses?.flatMap(({ types }) => types.map(({ expression }) => expression)) ?? [];
    return this.#declarationsOf(bases)
      .map(({ declaration }) => is.isClassDeclaration(declaration) && this.#failureBase(declaration))
      .find((base) => base !== undefined && base !== false);
  }

  #declarationsOf(nodes: readonly Node[]): Array<{ node: Node; declaration: Node }> {
    const { checker } = this.#project;
    const symbols = checker.getSymbolAtLocation(nodes);
    return nodes.flatMap((node, place) => {
      const isShort = is.isShorthandPropertyAssignment(node.parent);
      const symbol = isShort ? checker.getShorthandAssignmentValueSymbol(node.parent) : symbols[place];
      const handles = symbol ? this.#handlesOf(symbol) : [];
      const own = handles.filter(({ path }) => path.includes("/src/")).map((handle) => handle.resolve(this.#project));
      return own.flatMap((declaration) => (declaration ? [{ node, declaration }] : []));
    });
  }

  #handlesOf(symbol: CodeSymbol): readonly NodeHandle[] {
    const known = this.#handles.get(symbol);
    if (known) return known;
    const isImported = (symbol.flags & SymbolFlags.Alias) !== 0;
    const { declarations } = isImported ? this.#project.checker.getAliasedSymbol(symbol) : symbol;
    this.#handles.set(symbol, declarations);
    return declarations;
  }
}

/** The nodes in this one that run: neither types, nor a class with which an error is compared. */
function nodesIn(node: Node): Node[] {
  const found: Node[] = [];
  const visit = (inner: Node): void => {
    if (is.isTypeNode(inner)) return;
    found.push(inner);
    const isComparison = is.isBinaryExpression(inner) && inner.operatorToken.kind === SyntaxKind.InstanceOfKeyword;
    if (isComparison) visit(inner.left);
    else inner.forEachChild(visit);
  };
  visit(node);
  return found;
}

/** The values or functions in an object, with those of an object that is spread into it in place. */
function valuesOf({ properties }: ObjectLiteralExpression): Map<string, Node> {
  const pairs = properties.flatMap((property): Array<[string, Node]> => {
    if (is.isPropertyAssignment(property)) return [[property.name.getText(), property.initializer]];
    if (is.isMethodDeclaration(property)) return [[property.name.getText(), property]];
    const isSpread = is.isSpreadAssignment(property) && is.isObjectLiteralExpression(property.expression);
    return isSpread ? [...valuesOf(property.expression)] : [];
  });
  return new Map(pairs);
}

/** A function, or a value of a module or of an object, such as a function in a constant or a list of failures. */
const isCode = (node: Node): boolean =>
  is.isFunctionDeclaration(node) ||
  is.isMethodDeclaration(node) ||
  is.isGetAccessorDeclaration(node) ||
  is.isPropertyDeclaration(node) ||
  is.isPropertyAssignment(node) ||
  (is.isVariableDeclaration(node) && is.isSourceFile(node.parent.parent.parent));

const isRunByNew = (member: Node): boolean => is.isConstructorDeclaration(member) || is.isPropertyDeclaration(member);

const nameOf = (node: Node & { readonly name?: Node }): string => node.name?.getText() ?? "constructor";
