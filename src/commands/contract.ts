import { writeFileSync } from "node:fs";
import { lexicographicSortSchema, printSchema } from "graphql";
import { graphqlSchema, operations } from "../app.js";
import { openApiJson } from "../surfaces/rest/openapi.js";

// `npm run contract`: writes what clients rely on, as the code has it now; the diff is for a person to read.
const schema = await graphqlSchema();
writeFileSync("schema.graphql", `${printSchema(lexicographicSortSchema(schema))}\n`);
writeFileSync("test/contract/openapi.json", openApiJson(operations, schema));
