import type { Handler } from "express";
import { noteFailure } from "../http.js";
import { NoSuchPath } from "../plain-errors.js";
import type { OAuthUrls } from "./urls.js";

/**
 * Answers a program whose key was refused at `/mcp`, and which then tries to register as MCP of 2025-03-26 says. It
 * shows its user nothing but this answer, and reads it only in OAuth's format: RFC 6749, 5.2.
 */
export function refuseRegistration(urls: OAuthUrls | undefined): Handler {
  const elsewhere = urls ? ` A program that takes no key connects at ${urls.resource} instead.` : "";
  const description =
    "`/mcp` takes an API key in the header `Authorization: Bearer <key>`. The program sent none, or one that is wrong or " +
    `has ended.${elsewhere}`;
  return (_request, response) => {
    noteFailure(new NoSuchPath(), response);
    response.json({ error: "invalid_request", error_description: description });
  };
}
