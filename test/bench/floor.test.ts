import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { expect, inject, it } from "vitest";
import { environmentForProcess } from "../support/environment.js";

it("compares the service with a floor that answers alike", async () => {
  const env = { ...environmentForProcess(), DATABASE_URL: inject("databaseServer").url, BENCH_MEMORIES: "2000" };

  const { stderr } = await promisify(execFile)("npm", ["run", "--silent", "bench", "--", "--compare"], { env });

  expect(stderr).toContain("Both answer alike.");
});
