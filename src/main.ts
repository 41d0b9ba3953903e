import { closeSync, openSync } from "node:fs";
import { devNull } from "node:os";
import { LIMITS } from "./limits.js";

/** The entry point. Checks the limit of open files first: beyond it, loading modules fails with a stack trace. */
if (mayOpen(LIMITS.start.openFiles)) {
  await import("./serve.js");
} else {
  console.error(
    `This process may not open ${LIMITS.start.openFiles} files, which the service needs: raise the limit of open files ` +
      "(`ulimit -n 1024`), then start again.",
  );
  process.exitCode = 1;
}

function mayOpen(files: number): boolean {
  const opened: number[] = [];
  try {
    while (opened.length < files) opened.push(openSync(devNull, "r"));
    return true;
  } catch (error) {
    return !["EMFILE", "ENFILE"].includes(String((error as NodeJS.ErrnoException).code));
  } finally {
    for (const file of opened) closeSync(file);
  }
}
