import axe from "axe-core";
import type { Page } from "playwright-core";

/** `paleTexts` looks at contrast, in more places than axe. */
const RULES = { "color-contrast": { enabled: false } };

/** Finds what keeps people from using a page by keyboard or screen reader: every rule of axe-core that it breaks. */
export async function barriersOn(page: Page): Promise<string[]> {
  await page.evaluate(axe.source);
  return page.evaluate<string[]>(`axe.run(document, { rules: ${JSON.stringify(RULES)} }).then(({ violations }) =>
    violations.map(({ id, help, nodes }) => id + " (" + help + "): " + nodes[0].html.slice(0, 100)))`);
}
