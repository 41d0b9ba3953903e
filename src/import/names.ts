/** The words of a list that is written as a text. */
export function words(list: string): string[] {
  return list.split(" ");
}

/**
 * Names of fields in memory files, normalised by `plainName`, the most usual first. They are from the knowledge-graph
 * memory server, its forks, and exports of other memory tools.
 */
export const NAMES = ["name", "entityname", "title", "entity", "subject", "label", "concept", "topic", "key"];
export const IDS = ["id", "uuid", "entityid", "memoryid", "nodeid"];
export const TYPES = ["entitytype", "memorytype", "nodetype", "objecttype", "type", "category", "kind"];
export const TEXTS = [
  ...words("observations observation facts fact contents content text memory details detail"),
  ...words("description document body message notes note value data"),
];
/** When a memory was stored, and when it was changed last. */
export const CREATED = [
  ...words("created createdat createdon createddate datecreated creationdate createdatiso createtime"),
  ...words("createdtime ctime"),
  // As Notion and others name it in Chinese, Japanese and Korean.
  ...words("创建时间 创建日期 建立時間 作成日時 생성일시"),
];
export const UPDATED = [
  ...words("updated updatedat updatedon updatedatiso dateupdated lastupdated modified modifiedat"),
  ...words("datemodified lastmodified lastmod modificationdate mtime"),
  ...words("lasteditedtime lastedited updatetime"),
  ...words("更新时间 修改时间 上次编辑时间 上次編輯時間 更新日時 最終更新日時 최종편집일시"),
];
export const TAGS = ["tags", "keywords", "categories", "topics"];

const ENDS = ["", ...words("entity name entityname memoryid id uuid entityid memory node nodeid nodeuuid"), "hash"];
const endsOf = (...begins: string[]) => begins.flatMap((begin) => ENDS.map((end) => begin + end));
export const SUBJECT = "subject";
export const OBJECT = "object";
export const FROM = [...endsOf("from", "source"), "head", "start", SUBJECT, "entity1", "entity1id"];
export const TARGETS = endsOf("to", "target", "destination");
export const TO = [...TARGETS, "tail", "end", OBJECT, "entity2", "entity2id"];
/** For relationships inside a memory, which start at that memory by default. */
export const OTHER_END = [...TO, "entity", "entityname", "name", "id", "memory"];
export const RELATION_TYPES = [
  ...words("relationtype relationshiptype relation relationship predicate edgetype linktype"),
  ...words("type label kind name verb rel"),
];

/** Lists of memories, and of relationships, in a file that is one object. */
export const MEMORY_LISTS = new Set([
  ...words("entities nodes memories vertices results items records documents concepts entries"),
  ...words("shorttermmemory longtermmemory archivedmemory blocks passages points"),
]);
/** The same names where they may also be fields of a single memory. */
export const AMBIGUOUS_LISTS = new Set(["results", "items", "records", "documents", "concepts", "entries"]);
export const RELATION_LISTS = new Set([
  "relations",
  "relationships",
  "edges",
  "links",
  "connections",
  "triples",
  "associations",
]);
export const NESTED_RELATIONS = new Set([...RELATION_LISTS, "related", "relatedto", "linkedto"]);
export const WRAPPERS = new Set(["graph", "knowledgegraph", "data", "result", "export", "memory", "payload"]);
/** Fields that describe the file, and fields of the service's own export that contain no memories. */
export const FILE_FIELDS = new Set([
  ...words("metadata meta stats statistics info schema config exportmetadata exported"),
  ...words("profile membership keys invitationsreceived invitationssent events versions"),
]);

/** Fields of an answer that has one page of a list, if there are more pages. */
export const FOLLOWING = new Set([
  ...words("next nextcursor nextpage nextpagetoken nextpageoffset nextoffset"),
  ...words("hasmore hasnext hasnextpage"),
]);
/** How many pages there are, beside the number of this one in `page`. */
export const PAGE_COUNTS = new Set(["pages", "totalpages"]);

/** Values of `type` that say what a line is, instead of the memory's own type. */
const MEMORY_MARKERS = new Set<unknown>(["entity", "node", "memory", "vertex", "observation"]);
const RELATIONSHIP_MARKERS = new Set<unknown>(["relation", "relationship", "edge", "link"]);

/** Whether this value of `type` marks a memory or a relationship; undefined for any other value. */
export function shapeOf(value: unknown): "memory" | "relationship" | undefined {
  if (MEMORY_MARKERS.has(value)) return "memory";
  return RELATIONSHIP_MARKERS.has(value) ? "relationship" : undefined;
}
