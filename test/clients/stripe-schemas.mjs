/**
 * Prints as JSON schemas of the `stripe` package's declarations, with a definition for each type that is reached from
 * the answers, and for each that is reached from the requests. Resources that no answer contains match nothing, which
 * keeps the schemas small.
 */
import { fileURLToPath } from "node:url";
import { ExposeNodeParser, createGenerator, symbolAtNode } from "ts-json-schema-generator";

/** The resources that answers contain. */
const HELD = new Set([
  "BillingPortal/Configurations:Configuration",
  "BillingPortal/Sessions:Session",
  "resources/Customers:Customer",
  "resources/Customers:DeletedCustomer",
  "resources/InvoiceLineItems:InvoiceLineItem",
  "resources/Invoices:Invoice",
  "resources/LineItems:LineItem",
  "resources/Plans:Plan",
  "resources/Prices:Price",
  "resources/Products:Product",
  "Checkout/Sessions:Session",
  "resources/SubscriptionItems:SubscriptionItem",
  "resources/Subscriptions:Subscription",
  "Tax/Settings:Settings",
  "resources/WebhookEndpoints:DeletedWebhookEndpoint",
  "resources/WebhookEndpoints:WebhookEndpoint",
]);

// Several Stripe resources declare types of the same name; the file's name distinguishes them.
ExposeNodeParser.prototype.getDefinitionName = function nameOf(node, context) {
  const name = this.typeChecker.getFullyQualifiedName(symbolAtNode(node)).replace(/^".*"\./, "");
  const [, file = ""] = /([^/]+\/[^/]+?)(?:\.d)?\.ts$/.exec(node.getSourceFile().fileName) ?? [];
  const typeArguments = context.getArguments().map((argument) => argument?.getName());
  return `${file}:${name}${typeArguments.length > 0 ? `<${typeArguments.join(",")}>` : ""}`;
};

const generator = createGenerator({
  path: fileURLToPath(new URL("stripe-{answers,requests}.ts", import.meta.url)),
  tsconfig: fileURLToPath(new URL("tsconfig.json", import.meta.url)),
  skipTypeCheck: true,
  expose: "export",
  jsDoc: "none",
  additionalProperties: false,
  functions: "hide",
});
/** The SDK has a class for decimals, which are text on the wire. Values of later API versions are never returned. */
const schemaOf = (definitions, name) => {
  if (name === "esm/shared:OtherString") return false;
  if (name === "esm/Decimal:Decimal") return { type: "string", pattern: "^-?\\d+(\\.\\d+)?$" };
  const [, owner = ""] = /^([^.<]*)/.exec(name) ?? [];
  const isResource = definitions[name]?.properties?.object?.const !== undefined;
  return isResource && !HELD.has(owner) && !name.includes("<") ? false : definitions[name];
};

function schemaFrom(file, type) {
  const { definitions } = generator.createSchema(type);
  const reached = {};
  const reach = (name) => {
    if (name in reached) return;
    reached[name] = schemaOf(definitions, name);
    JSON.stringify(reached[name], (key, value) => {
      if (key === "$ref") reach(decodeURIComponent(value.replace("#/definitions/", "")));
      return value;
    });
  };
  reach(`clients/${file}:${type}`);
  return { definitions: reached };
}

const schemas = {
  answers: schemaFrom("stripe-answers", "Answers"),
  requests: schemaFrom("stripe-requests", "Requests"),
};
console.log(JSON.stringify(schemas));
