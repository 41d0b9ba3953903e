/** "1 memory", "2 memories". */
export const countInWords = (count: number, one: string, many: string): string =>
  `${count} ${count === 1 ? one : many}`;

/** The currencies without decimals at Stripe. Node knows more, such as HUF: https://docs.stripe.com/currencies */
const WHOLE = "bif clp djf gnf jpy kmf krw mga pyg rwf vnd vuv xaf xof xpf".split(" ");

/** An amount in Stripe's smallest unit of a currency, as people write it: "€8.00", "¥800". */
export function formatMoney(amount: number, currency: string): string {
  const digits = WHOLE.includes(currency) ? 0 : 2;
  const decimals = { minimumFractionDigits: digits, maximumFractionDigits: digits };
  return new Intl.NumberFormat("en-US", { style: "currency", currency, ...decimals }).format(amount / 10 ** digits);
}

/** A time rounded down to the minute. */
export const minuteOf = (time: Date): string => `${time.toISOString().slice(0, 16).replace("T", " ")} UTC`;
