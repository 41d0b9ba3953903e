import type { Stripe } from "stripe";
import { COMMON, clearable, fields, oneOf, optional, text } from "../params.js";
import type { TaxRecord } from "../state.js";
import { type Route, route } from "./route.js";

const ADDRESS_OF_TAX = "/v1/tax/settings";

const ADDRESS = fields({
  country: text(),
  city: optional(clearable()),
  line1: optional(clearable()),
  line2: optional(clearable()),
  postal_code: optional(clearable()),
  state: optional(clearable()),
});

const SETTINGS = fields({
  ...COMMON,
  defaults: optional(
    fields({
      tax_behavior: optional(oneOf("exclusive", "inclusive", "inferred_by_currency")),
      tax_code: optional(text()),
    }),
  ),
  head_office: optional(fields({ address: ADDRESS })),
});

/** The settings of Stripe Tax, as a new account has them. Checkouts are taxed whatever they are. */
export const taxRoutes: readonly Route[] = [
  route("GET", ADDRESS_OF_TAX, fields(COMMON), ({ state }) => settingsObject(state.tax)),
  route("POST", ADDRESS_OF_TAX, SETTINGS, ({ state }, { defaults, head_office: office }) => {
    const { tax } = state;
    if (defaults?.tax_behavior) tax.behavior = defaults.tax_behavior;
    if (defaults?.tax_code) tax.code = defaults.tax_code;
    if (office) {
      const {
        country,
        city = null,
        line1 = null,
        line2 = null,
        postal_code = null,
        state: region = null,
      } = office.address;
      tax.headOffice = { country, city, line1, line2, postal_code, state: region };
    }
    return settingsObject(tax);
  }),
];

function settingsObject({ behavior, code, headOffice }: TaxRecord): Stripe.Tax.Settings {
  const missing = [...(code === null ? ["defaults.tax_code"] : []), ...(headOffice ? [] : ["head_office"])];
  const isActive = headOffice !== null;
  return {
    object: "tax.settings",
    defaults: { provider: "stripe", tax_behavior: behavior, tax_code: code },
    head_office: headOffice && { address: headOffice },
    livemode: false,
    status: isActive ? "active" : "pending",
    status_details: isActive ? { active: {} } : { pending: { missing_fields: missing } },
  };
}
