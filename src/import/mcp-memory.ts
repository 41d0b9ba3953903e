import { GraphDraft, type Note } from "./graph.js";
import { TAG_MAX, TITLE_MAX, cut, isLonger, isObject, quote, textOf, textProblem } from "./text.js";
import { lostInType, memoryType, relationshipType } from "./type-names.js";

/** The tag by which a later import finds what an earlier one made. */
const TAG = "mcp-memory";

/** A value of the file, and where it stands, such as "line 3". */
export interface Item {
  readonly place: string;
  readonly value: unknown;
}

interface Entity {
  readonly type: string;
  /** In the order in which they were first made. */
  readonly observations: Set<string>;
}

/** Reads what the reference MCP memory server keeps: entities with observations, relations between their names. */
export function readMcpMemory(entityItems: readonly Item[], relationItems: readonly Item[]): GraphDraft {
  const draft = new GraphDraft("name", TAG);
  const entities = new Map<string, Entity>();
  for (const item of entityItems) readEntity(item, entities, draft);
  for (const [name, entity] of entities) draft.addNote(noteOf(name, entity));
  for (const item of relationItems) readRelation(item, draft);
  return draft;
}

/** A file may have several lines for one name, as when two were joined: they are one entity. */
function readEntity({ place, value }: Item, entities: Map<string, Entity>, draft: GraphDraft): void {
  const name = isObject(value) ? textOf(value, "name") : undefined;
  if (!isObject(value) || name === undefined) return draft.refuse(place, "an entity needs a name");
  const problem = textProblem(name);
  if (problem !== undefined) return draft.refuse(`entity ${quote(name)}`, problem);
  const known = entities.get(name);
  const entity: Entity = known ?? { type: textOf(value, "entityType") ?? "", observations: new Set() };
  if (known) draft.merged.memories++;
  else entities.set(name, entity);
  const observations: unknown[] = Array.isArray(value["observations"]) ? value["observations"] : [];
  for (const observation of observations) readObservation(observation, { name, entity, draft });
}

interface Place {
  readonly name: string;
  readonly entity: Entity;
  readonly draft: GraphDraft;
}

/** One that cannot be stored costs no other. */
function readObservation(value: unknown, { name, entity, draft }: Place): void {
  const labelled = (text: string) => `an observation of ${quote(name)}: ${quote(text)}`;
  if (typeof value !== "string") return draft.refuse(labelled(JSON.stringify(value)), "it is not a text");
  const problem = textProblem(value);
  if (problem !== undefined) return draft.refuse(labelled(value), problem);
  if (value.trim() !== "") entity.observations.add(value.normalize("NFC"));
}

function noteOf(name: string, { type, observations }: Entity): Note {
  const title = cut(name, TITLE_MAX);
  const lines = title === name ? [...observations] : [name, ...observations];
  const tags = [TAG];
  const known = memoryType(type);
  // A type that no type name can say, as in another script, is still something to find the memory by.
  if (known === undefined && type.trim() !== "" && !isLonger(type, TAG_MAX) && !textProblem(type)) tags.push(type);
  return { key: name, type: known ?? "general", title, content: lines.join("\n") || name, tags, lines };
}

function readRelation({ place, value }: Item, draft: GraphDraft): void {
  const relation = isObject(value) ? value : {};
  const [from, to, text] = ["from", "to", "relationType"].map((field) => textOf(relation, field));
  if (from === undefined || to === undefined || text === undefined) {
    return draft.refuse(place, "a relation needs from, to and relationType");
  }
  const type = relationshipType(text) ?? "RELATED_TO";
  const label = `relation ${quote(from)} ${quote(text)} ${quote(to)}`;
  draft.addLink({ from, to, type, context: lostInType(text, type), label });
}
