import { describe, expect, it } from "vitest";
import { describeInBrowser } from "../support/browser.js";
import { ask } from "../support/http.js";
import { createWorld } from "../support/world.js";

describe("the documentation", () => {
  it("needs no key, and is sent again only if it has changed", async () => {
    await using world = await createWorld();
    const { url } = await world.serve();
    for (const path of ["/openapi.json", "/docs"]) {
      const first = await ask(url + path);
      const etag = first.headers.get("etag") ?? "";
      // Without `cache-control`, fetch would request a new copy in spite of the ETag.
      const again = await ask(url + path, { headers: { "if-none-match": etag, "cache-control": "max-age=0" } });

      expect(first.status).toBe(200);
      expect(first.headers.get("cache-control")).toBe("no-cache");
      expect(first.headers.get("content-security-policy")).toContain("script-src 'self';");
      expect(again).toMatchObject({ status: 304, body: "" });
    }
  });

  it("names the URL that clients should use", async () => {
    await using world = await createWorld();
    const serversOf = async (environment: Record<string, string>) => {
      const { url } = await world.serve(environment);
      const { body } = await ask(`${url}/openapi.json`);
      return (body as { servers: Array<{ url: string }> }).servers.map((server) => server.url);
    };

    expect(await serversOf({})).toEqual(["/"]);
    expect(await serversOf({ PUBLIC_URL: "https://memory.example.com/graph/" })).toEqual([
      "https://memory.example.com/graph",
    ]);
  });

  it("serves assets that browsers may cache forever, and no other files of their package", async () => {
    await using world = await createWorld();
    const { url } = await world.serve();
    const { body } = await ask(`${url}/docs`);
    const assets = Array.from(
      String(body).matchAll(/(?:href|src)="\.(\/docs\/[\w-]{12}\/[^"]+)"/g),
      ([, path = ""]) => path,
    );

    expect(assets).toHaveLength(4);
    for (const asset of assets) {
      const { status, headers } = await ask(url + asset);
      expect(status).toBe(200);
      expect(headers.get("cache-control")).toBe("public, max-age=31536000, immutable");
    }
    const other = assets[0]?.replace(/[^/]+$/, "package.json") ?? "";
    expect((await ask(url + other)).status).toBe(404);
    expect(String(body)).not.toMatch(/https?:/);
  });
});

describeInBrowser("the REST reference", (browser) => {
  it("shows every subject and runs a request with a key, without requests to other hosts", async () => {
    await using world = await createWorld();
    const { key, email } = await world.user();
    const { url } = await world.serve();
    const page = await browser().newPage({ viewport: { width: 1280, height: 900 } });
    const problems: string[] = [];
    page.on("console", (message) => void (message.type() === "error" && problems.push(message.text())));
    page.on("pageerror", (error) => void problems.push(error.message));
    page.on("request", (request) => void (new URL(request.url()).origin === url || problems.push(request.url())));

    await page.goto(`${url}/docs`);
    await page.getByText("Stores a memory", { exact: true }).waitFor();
    await page.getByRole("button", { name: "Authorize" }).first().click();
    await page.getByRole("textbox").fill(key);
    await page.getByRole("button", { name: "Apply credentials" }).click();
    await page.getByRole("button", { name: "Close" }).click();
    await page
      .getByText("Shows the user of the key in use, what the key may do, and how full the graphs are", { exact: true })
      .click();
    await page.getByRole("button", { name: "Try it out" }).click();
    await page.getByRole("button", { name: "Execute" }).click();
    await page.getByText(email).first().waitFor();

    expect(problems).toEqual([]);
    expect(world.bugs).toEqual([]);
  });

  it("fits a phone with an open operation, and says how to enter a key", async () => {
    await using world = await createWorld();
    const { url } = await world.serve();
    const page = await browser().newPage({ viewport: { width: 390, height: 844 } });
    await page.goto(`${url}/docs`);
    for (const summary of [
      "Stores a memory",
      "Deletes a memory permanently, with its versions and its relationships",
    ]) {
      await page.getByText(summary, { exact: true }).click();
      await page.locator(".opblock.is-open .responses-table").last().waitFor();
    }
    await expect.poll(() => page.locator(".opblock.is-open .responses-table").count()).toBe(2);
    expect(await page.evaluate("document.documentElement.scrollWidth")).toBe(390);

    await page.getByRole("button", { name: "Authorize" }).first().click();
    await page.getByText("The key alone, such as").waitFor();
    await page.close();
  });
});
