import { InvalidArgumentError, Option } from "commander";

/** The options of commands that call a running service. */
export interface ServiceOptions {
  readonly key?: string;
  readonly url: string;
}

export const keyOption = (): Option =>
  new Option("--key <key>", "API key; better set the variable, which stays out of the shell history")
    .env("MEMORY_GRAPH_KEY")
    .argParser((text) => text.trim());

export const urlOption = (): Option =>
  new Option("--url <address>", "the service's address")
    .env("MEMORY_GRAPH_URL")
    .default("http://127.0.0.1:4000")
    .argParser(addressOf);

/**
 * The address of a service, perhaps with a path below which it is served, without slashes at the end. People also give
 * the address of one of its doors.
 */
export function addressOf(given: string): string {
  const text = given.trim();
  if (!/^https?:\/\/[^@?#]+$/.test(text) || !URL.canParse(text))
    throw new InvalidArgumentError("Give one such as https://memory.example.com");
  return text.replace(/\/+$/, "").replace(/\/+(?:mcp|v1|graphql)$/, "");
}

export type GraphChoice = "personal" | "team";

/** @param purpose what the command does with the graph, such as `export` */
export const graphOption = (purpose: string): Option =>
  new Option("--graph <graph>", `the graph to ${purpose} (default: the team's, or without a team your own)`).choices([
    "personal",
    "team",
  ] satisfies GraphChoice[]);
