import axe from "axe-core";
import type { Page } from "playwright-core";

/** `paleTexts` looks at contrast, in more places than axe. */
const RULES = { "color-contrast": { enabled: false } };

/** Finds links, buttons and fields that are hard to hit by a finger: smaller than 24 pixels, as WCAG 2.2 has it. */
export const smallTargetsOn = (page: Page): Promise<string[]> =>
  page.evaluate<string[]>(`Array.from(document.querySelectorAll("a[href], button, input:not([type=hidden])"))
    .filter((target) => target.checkVisibility() && !target.matches(".skip"))
    .filter((target) => { const { width, height } = target.getBoundingClientRect(); return width < 24 || height < 24; })
    .map((target) => target.outerHTML.slice(0, 100))`);

/** Finds what keeps people from using a page by keyboard or screen reader: every rule of axe-core that it breaks. */
export async function barriersOn(page: Page): Promise<string[]> {
  await page.evaluate(axe.source);
  return page.evaluate<string[]>(`axe.run(document, { rules: ${JSON.stringify(RULES)} }).then(({ violations }) =>
    violations.map(({ id, help, nodes }) => id + " (" + help + "): " + nodes[0].html.slice(0, 100)))`);
}
