import { readFileSync } from "node:fs";
import { createConfig, lintFromString } from "@redocly/openapi-core";
import { Validator } from "@seriousme/openapi-schema-validator";

/** Prints as JSON what two independent OpenAPI linters report about the document at the given path. */
const [path = ""] = process.argv.slice(2);
const source = readFileSync(path, "utf8");
const config = await createConfig({
  extends: ["recommended"],
  rules: {
    // `/v1/memories/search` beside `/v1/memories/{id}` is the required interface; the service tries the former first.
    "no-ambiguous-paths": "off",
  },
});
const linted = await lintFromString({ source, absoluteRef: "openapi.json", config });
const problems = linted.map(({ ruleId, severity, message, location }) => {
  const [{ pointer = "" } = {}] = location;
  return { rule: ruleId, severity, message, pointer };
});
// Health checks take no input that could be wrong.
const isHealth = ({ rule, pointer }) =>
  rule === "operation-4xx-response" && /^#\/paths\/~1(healthz|readyz)\//.test(pointer);
const { valid, errors } = await new Validator().validate(JSON.parse(source));
console.log(JSON.stringify({ valid, errors, problems: problems.filter((problem) => !isHealth(problem)) }, null, 2));
