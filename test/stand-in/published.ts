/**
 * Facts of Stripe's OpenAPI document (`latest/openapi.spec3.json` of github.com/stripe/openapi, API version
 * 2026-09-30.endive, read on 2026-11-21) that are missing in the types of the `stripe` package: which fields an object
 * always has, by its `object`; which can be expanded; and how long texts may be. Only for what the service uses.
 */
interface PublishedObject {
  readonly required: readonly string[];
  /** The fields that can be expanded, or that contain such fields. */
  readonly expandable: readonly string[];
}

const words = (text: string): readonly string[] => text.split(" ");

const OBJECTS: Readonly<Record<string, PublishedObject>> = {
  "billing_portal.configuration": {
    required: words("active business_profile created features id is_default livemode login_page object updated"),
    expandable: words("application business_profile features login_page"),
  },
  "billing_portal.session": {
    required: words("configuration created customer id livemode object url"),
    expandable: words("configuration flow"),
  },
  "checkout.session": {
    required: words(
      "automatic_tax created custom_fields custom_text expires_at id livemode mode object payment_method_types " +
        "payment_status shipping_options",
    ),
    expandable: words("customer invoice line_items subscription"),
  },
  invoice: {
    required: words(
      "amount_due amount_overpaid amount_paid amount_paid_off_stripe amount_remaining amount_shipping attempt_count " +
        "attempted auto_advance automatic_tax collection_method created currency customer default_tax_rates discounts " +
        "id issuer lines livemode object payment_settings period_end period_start post_payment_credit_notes_amount " +
        "pre_payment_credit_notes_amount starting_balance status_transitions subtotal total",
    ),
    expandable: words("customer lines"),
  },
  line_item: {
    required: words("amount currency discountable discounts id livemode metadata object period subtotal"),
    expandable: words("discounts subscription"),
  },
  list: { required: words("data has_more object url"), expandable: words("data") },
  plan: {
    required: words("active billing_scheme created currency id interval interval_count livemode object usage_type"),
    expandable: words("product"),
  },
  price: {
    required: words("active billing_scheme created currency id livemode metadata object product type"),
    expandable: words("product recurring"),
  },
  product: {
    required: words("active created id images livemode marketing_features metadata name object updated"),
    expandable: words("default_price"),
  },
  subscription: {
    required: words(
      "automatic_tax billing_cycle_anchor billing_mode billing_schedules cancel_at_period_end collection_method created " +
        "currency customer discounts id invoice_settings items livemode metadata object start_date status",
    ),
    expandable: words("customer discounts items latest_invoice pending_update status_details"),
  },
  subscription_item: {
    required: words("created current_period_end current_period_start discounts id metadata object price subscription"),
    expandable: words("discounts price"),
  },
};

/** The parts of `billing_portal.configuration` that lead to expandable fields. They have no `object` field. */
const PARTS_OF_PORTALS = {
  features: words("customer_update invoice_history payment_method_update subscription_cancel subscription_update"),
  subscription_update: words("products schedule_at_period_end"),
} as const;

/** A list has at most this many objects. */
const LIMIT_MAX = 100;
/** A path such as `data.customer` has at most this many names: https://docs.stripe.com/expand */
const EXPAND_MAX = 4;

/** The longest texts in characters, by endpoint and the parameter's last name; 5,000 for all others. */
const LENGTHS: Readonly<Record<string, Readonly<Record<string, number>>>> = {
  "POST /v1/customers": { email: 512, name: 256 },
  "POST /v1/customers/:id": { email: 512, name: 256 },
  "POST /v1/checkout/sessions": { client_reference_id: 200 },
  "POST /v1/prices": { lookup_key: 200 },
};
const LENGTH_MAX = 5_000;
/** The longest ids in a path, in characters, by endpoint; 5,000 for all others. */
const ID_LENGTHS: Readonly<Record<string, number>> = { "GET /v1/checkout/sessions/:id": 66 };
/** The longest names and values of metadata, and the largest number of entries: https://docs.stripe.com/metadata */
const METADATA = { name: 40, value: 500, count: 50 } as const;

/** The fields that published objects always have, but that this object or an object within it lacks. */
export function missingIn(value: unknown, place = ""): string[] {
  if (Array.isArray(value)) return value.flatMap((item, index) => missingIn(item, `${place}[${index}]`));
  if (typeof value !== "object" || value === null) return [];
  const { required = [] } = OBJECTS[String((value as { object?: unknown }).object)] ?? {};
  const present = new Map(Object.entries(value).filter(([, field]) => field !== undefined && field !== null));
  const missing = required.filter((field) => !present.has(field)).map((field) => `${place}.${field}`);
  return [...missing, ...[...present].flatMap(([name, field]) => missingIn(field, `${place}.${name}`))];
}

/** What is wrong with the parameters of a request to an endpoint such as "GET /v1/prices", and with the ids in its path. */
export function excessesOf(endpoint: string, params: Readonly<Record<string, unknown>>, address = ""): string[] {
  const { limit, expand = [] } = params;
  const paths = (expand as readonly string[]).filter((path) => path.split(".").length > EXPAND_MAX);
  const longIds = address.split("/").filter((part) => part.length > (ID_LENGTHS[endpoint] ?? LENGTH_MAX));
  return [
    ...longIds.map((id) => `the path has an id of ${id.length} characters`),
    ...(limit !== undefined && !(Number(limit) >= 1 && Number(limit) <= LIMIT_MAX) ? [`limit=${String(limit)}`] : []),
    ...paths.map((path) => `expand=${path}`),
    ...tooLong(endpoint, params),
  ];
}

function tooLong(endpoint: string, value: unknown, name = ""): string[] {
  if (typeof value === "string") {
    return value.length > (LENGTHS[endpoint]?.[name] ?? LENGTH_MAX) ? [`${name} has ${value.length} characters`] : [];
  }
  if (typeof value !== "object" || value === null) return [];
  const entries = Object.entries(value);
  if (name !== "metadata") return entries.flatMap(([key, inner]) => tooLong(endpoint, inner, key));
  const isTooMuch = ([key, text]: [string, unknown]) =>
    key.length > METADATA.name || String(text).length > METADATA.value;
  return entries.length > METADATA.count || entries.some(isTooMuch) ? ["metadata is too much"] : [];
}

/** Whether each name of a path such as `data.latest_invoice` can be expanded in a list of these objects. */
export function isExpandable(object: string, path: string): boolean {
  const [first, name = "", ...rest] = path.split(".");
  if (first !== "data" || !OBJECTS[object]?.expandable.includes(name)) return false;
  return rest.every((inner, index) => {
    const owner = [name, ...rest][index] as keyof typeof PARTS_OF_PORTALS;
    return PARTS_OF_PORTALS[owner]?.includes(inner) ?? false;
  });
}
