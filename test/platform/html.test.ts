import { expect, it } from "vitest";
import { html } from "../../src/platform/html.js";

it("leaves out what is not there, and escapes every other value", () => {
  expect(html`<p>${undefined}${null}${false}${[false, "a"]}${0}${"<b>"}</p>`.text).toBe("<p>a0&#60;b&#62;</p>");
});
