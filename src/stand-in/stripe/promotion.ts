import { invalidRequest } from "./errors.js";
import type { SessionRecord } from "./state.js";

interface Discounted {
  readonly percentOff?: number | undefined;
}

/** What a promotion code takes off each invoice: `SAVE25` takes 25 %. Throws an ApiError for another code. */
export function percentOf({ takesPromotionCodes }: SessionRecord, code: string): number {
  const percent = /^SAVE([1-9]\d?|100)$/.exec(code)?.[1];
  if (!takesPromotionCodes || percent === undefined) throw invalidRequest("This code is invalid.");
  return Number(percent);
}

/** What is taken off an amount. */
export const discountOn = ({ percentOff = 0 }: Discounted, amount: number): number =>
  Math.round((amount * percentOff) / 100);

export const discountIds = ({ percentOff }: Discounted): string[] => (percentOff === undefined ? [] : ["di_standin"]);

/** Stripe's amounts of discounts: none, or one. */
export const discountAmounts = (amount: number) => (amount === 0 ? [] : [{ amount, discount: "di_standin" }]);
