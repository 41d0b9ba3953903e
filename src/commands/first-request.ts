import { quote } from "./quote.js";

const MEMORY = '{"type": "fix", "title": "Retry", "content": "Wait longer each time."}';

/** The command of a first request, for the shell of most people on this system: on Windows that is PowerShell. */
export function firstRequest(url: string, key: string, platform: string = process.platform): string {
  const lines =
    platform === "win32"
      ? [
          `Invoke-RestMethod ${quote(`${url}/v1/memories`)} -Method Post`,
          `-Headers @{ Authorization = 'Bearer ${key}' }`,
          "-ContentType application/json",
          `-Body '${MEMORY}'`,
        ]
      : [
          `curl -s ${quote(`${url}/v1/memories`)}`,
          `-H 'Authorization: Bearer ${key}'`,
          "-H 'Content-Type: application/json'",
          `-d '${MEMORY}'`,
        ];
  return lines.join(platform === "win32" ? " `\n    " : " \\\n    ");
}

/** How npm is called with options behind `--`: by its own script for PowerShell they would be npm's, and lost. */
export const npmCommand = (platform: string = process.platform): string => (platform === "win32" ? "npm.cmd" : "npm");
