const TABLE = /^\[([\w.-]+)\]\s*(?:#.*)?$/;
const FIELD = /^(?:([\w.-]+)|"([^"\\]+)"|'([^']+)')\s*=\s*(\S.*)$/;
/** Texts in one line, lists, numbers, times, `true` and `false`: what YAML writes in the same way. */
const VALUE = /^(?:"(?!"")|'(?!'')|\[(?!.*[{])|[+-]?\d|true\b|false\b)/;

/**
 * Writes the lines of TOML as YAML; the fields of a table get its name: `extra.owner`. Undefined for TOML that has more
 * than simple fields, such as texts of several lines or lists of tables.
 */
export function tomlAsYaml(lines: readonly string[]): string | undefined {
  const written: string[] = [];
  let [table, isInList] = ["", false];
  for (const line of lines.map((one) => one.trim())) {
    if (isInList) {
      if (line.includes("{")) return undefined;
      written.push(`  ${line}`);
      isInList = !endsList(line);
      continue;
    }
    if (line === "" || line.startsWith("#")) continue;
    const name = TABLE.exec(line)?.[1];
    const [, bare, quoted, literal, value = ""] = FIELD.exec(line) ?? [];
    const key = bare ?? quoted ?? literal;
    if (name !== undefined) table = `${name}.`;
    else if (key === undefined || !VALUE.test(value)) return undefined;
    else {
      written.push(`${JSON.stringify(table + key)}: ${value}`);
      isInList = value.startsWith("[") && !endsList(value);
    }
  }
  return isInList ? undefined : written.join("\n");
}

/** Whether a list ends with this line; a comment may follow, which has no quotes. */
function endsList(line: string): boolean {
  const afterTexts = line.slice(Math.max(line.lastIndexOf('"'), line.lastIndexOf("'")) + 1);
  return afterTexts
    .replace(/\s#.*$/, "")
    .trimEnd()
    .endsWith("]");
}
