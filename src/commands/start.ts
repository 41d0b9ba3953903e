import { commandLine } from "./command-line.js";

/** What `npm start` shows for `--help`. It takes no arguments: its settings are environment variables. */
export const program = commandLine({
  script: "start",
  description: "Serves until SIGTERM or Ctrl-C. Creates the database if there is none, and applies new migrations.",
  examples: ["npm start", "PORT=8080 npm start", "NODE_ENV=production DATABASE_URL=postgres://… npm start"],
  notes:
    "All settings are environment variables, in development also in a file .env: README.md lists them. A mistake in\n" +
    "one is reported before anything starts; `npm run doctor` checks more.",
}).action(() => {});
