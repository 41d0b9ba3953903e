import type { Page } from "playwright-core";

/**
 * Finds texts that are hard to read: those whose contrast with their background is below WCAG AA, by the styles that
 * the browser computed. Includes what is typed in, and what a style adds. Background images are ignored.
 * @param within checks only the elements that this selector matches, and their descendants
 */
export const paleTexts = (page: Page, within = "body"): Promise<string[]> =>
  page.evaluate<string[]>(`(${FIND_PALE})(${JSON.stringify(within)})`);

/** Finds fields whose edge is hard to see: its contrast with what is around is below 3. */
export const paleFields = (page: Page): Promise<string[]> => page.evaluate<string[]>(`(${FIND_PALE_FIELDS})()`);

/** What has the focus, and whether a mark shows it, of a contrast of 3 or more. */
export const focusOn = (page: Page): Promise<{ focused: string; isMarked: boolean }> =>
  page.evaluate<{ focused: string; isMarked: boolean }>(`(${FIND_FOCUS})()`);

/** Runs in the browser, so these are strings: this project's types have no DOM. */
const COLOURS = `
  const luminance = ([r, g, b]) => {
    const linear = (value) => (value <= 10 ? value / 3294.6 : ((value / 255 + 0.055) / 1.055) ** 2.4);
    return 0.2126 * linear(r) + 0.7152 * linear(g) + 0.0722 * linear(b);
  };
  const canvas = document.createElement("canvas").getContext("2d", { willReadFrequently: true });
  const known = new Map();
  // A canvas understands every form of a colour, such as color-mix.
  const colourOf = (text) => known.get(text) ?? known.set(text, readColour(text)).get(text);
  const readColour = (text) => {
    canvas.clearRect(0, 0, 1, 1);
    canvas.fillStyle = text;
    canvas.fillRect(0, 0, 1, 1);
    const [r, g, b, alpha] = canvas.getImageData(0, 0, 1, 1).data;
    return [r, g, b, alpha / 255];
  };
  const above = ([r, g, b, alpha], below) => [r, g, b].map((value, at) => value * alpha + below[at] * (1 - alpha));
  const remember = (compute, memory = new Map()) => (element) =>
    memory.get(element) ?? memory.set(element, compute(element)).get(element);
  const styleOf = remember((element) => getComputedStyle(element));
  const opacityOf = remember((element) =>
    element ? opacityOf(element.parentElement) * Number(styleOf(element).opacity) : 1);
  const backgroundOf = remember((element) =>
    element ? above(colourOf(styleOf(element).backgroundColor), backgroundOf(element.parentElement)) : [255, 255, 255]);
  const contrastOf = (seen, behind) => {
    const [less, more] = [luminance(seen), luminance(behind)].sort((a, b) => a - b);
    return (more + 0.05) / (less + 0.05);
  };
`;

const FIND_PALE_FIELDS = `() => {
  ${COLOURS}
  const fields = [...document.querySelectorAll("input:not([type=hidden]), select, textarea")];
  return fields.filter((field) => {
    const around = backgroundOf(field.parentElement);
    const edge = above(colourOf(styleOf(field).borderTopColor), around);
    return contrastOf(edge, around) < 3;
  }).map((field) => field.outerHTML.slice(0, 100));
}`;

const FIND_FOCUS = `() => {
  ${COLOURS}
  const element = document.activeElement;
  const { outlineStyle, outlineWidth, outlineColor, outlineOffset } = styleOf(element);
  const around = backgroundOf(parseFloat(outlineOffset) < 0 ? element : element.parentElement);
  const isThere = outlineStyle !== "none" && parseFloat(outlineWidth) >= 1;
  const isMarked = isThere && contrastOf(above(colourOf(outlineColor), around), around) >= 3;
  return { focused: element.outerHTML.slice(0, 80), isMarked };
}`;

const FIND_PALE = `(within) => {
  ${COLOURS}
  // A text, or what an element shows besides its texts: what is typed in, and what the style adds.
  const textsOf = (node) => {
    if (node instanceof Text) return [[node.data, node.parentElement, styleOf(node.parentElement)]];
    const typed = node.matches("textarea, input:not([type=checkbox])") ? [[node.value, node, styleOf(node)]] : [];
    const added = ["::before", "::after"].map((part) => getComputedStyle(node, part));
    return [...typed, ...added.map((style) => [/^"(.*)"$/.exec(style.content)?.[1] ?? "", node, style])];
  };
  const found = new Set();
  for (const root of document.querySelectorAll(within)) {
    const nodes = document.createTreeWalker(root, NodeFilter.SHOW_TEXT | NodeFilter.SHOW_ELEMENT);
    const texts = [];
    while (nodes.nextNode()) texts.push(...textsOf(nodes.currentNode));
    for (const [whole, element, { color, fontSize, fontWeight }] of texts) {
      const text = whole.trim();
      if (!text || !element.checkVisibility({ visibilityProperty: true, opacityProperty: true })) continue;
      const behind = backgroundOf(element);
      const [r, g, b, alpha] = colourOf(color);
      const seen = above([r, g, b, alpha * opacityOf(element)], behind);
      const size = parseFloat(fontSize);
      const isLarge = size >= 24 || (size >= 18.66 && Number(fontWeight) >= 700);
      const contrast = contrastOf(seen, behind);
      if (contrast >= (isLarge ? 3 : 4.5)) continue;
      found.add(contrast.toFixed(2) + " " + element.localName + ": " + text.slice(0, 50));
    }
  }
  return [...found];
}`;
