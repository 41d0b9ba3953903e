import { Field } from "type-graphql";
import { CLIENT_ID_MAX } from "../../operation/id.js";
import { Form, ListSize, Marked, Nullable, TextLength } from "../../operation/bounds.js";
import { combine } from "../../operation/combine.js";
import { RELATIONSHIP_FORM, TYPE_MAX, betterTypeFor } from "../../relationship-types.js";
import { TYPE_FORM } from "./memory-contents.js";

/**
 * The form of a client's own id. By `.` and `..` no path could name the memory: clients remove them from a path, even if
 * they are encoded.
 */
export const ClientIdForm = (): PropertyDecorator =>
  Form(/^(?!\.{1,2}$)[\s\S]*\S/, "must not be blank, nor . or .., which no path can contain");

/** The id that a client gives a memory; may be left out. */
export const ClientIdField = (
  description = "A client's own id for it, unique in the graph; understood wherever its `id` is.",
  form = ClientIdForm(),
): PropertyDecorator =>
  combine(
    Field(() => String, { nullable: true, description }),
    Nullable(),
    form,
    TextLength(1, CLIENT_ID_MAX),
    Marked("notForAgents"),
  );

/** The database keeps this many characters of a project's path; see the migration `context`. */
const PROJECT_MAX = 500;

/** A filter of memories by project. A path is whatever a client stores, so it is compared as any other text. */
export const ProjectField = (description: string): PropertyDecorator =>
  combine(
    Field(() => String, { nullable: true, description: `${description} \`/app/\` is not \`/app\`.` }),
    Nullable(),
    TextLength(1, PROJECT_MAX),
  );

const TYPES_MAX = 50;

/** A field that is the type of a relationship. */
export const RelationshipTypeForm = (): PropertyDecorator =>
  Form(RELATIONSHIP_FORM, `must be an upper-case name such as SOLVES, of up to ${TYPE_MAX} characters`);

/** A filter by types of memories. */
export const TypesField = (): PropertyDecorator =>
  combine(
    Field(() => [String], { nullable: true, description: "Only memories of one of these types." }),
    Nullable(),
    Form(TYPE_FORM, "must be lower-case words such as code_pattern"),
    ListSize(1, TYPES_MAX, TYPE_MAX),
  );

/** A filter by types of relationships. */
export const RelationshipTypesField = (description: string): PropertyDecorator =>
  combine(
    Field(() => [String], { nullable: true, description }),
    Nullable(),
    Form(RELATIONSHIP_FORM, `must be upper-case names such as SOLVES, of up to ${TYPE_MAX} characters`),
    ListSize(1, TYPES_MAX, TYPE_MAX),
  );

/** For every operation that leaves out expired memories by default. */
export const IncludeExpiredField = (): PropertyDecorator =>
  Field(() => Boolean, {
    defaultValue: false,
    description: "Whether to find memories whose `expiresAt` has passed, too.",
  });

/** Tells an agent that found nothing along `SOLVED_BY` or `FIXES` to ask for SOLVES. Empty for all other types. */
export function hintOfTypes(types: unknown): string {
  const names = Array.isArray(types) ? types.filter((type) => typeof type === "string") : [];
  const hints = names.map((name) => {
    const better = betterTypeFor(name);
    return better === undefined ? "" : `Ask for ${better.name} instead of ${name}. `;
  });
  return hints.join("");
}

/** For agents, who take `project` of searches for an input of changes, too. */
const PROJECT = '{"project_path": …} in context';
export const PROJECT_IN_CONTEXT = { project: PROJECT, project_path: PROJECT };
