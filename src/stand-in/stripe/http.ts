import express, { type Express, type Handler, type Response } from "express";
import type { Api, Outgoing } from "./api.js";
import { control } from "./control.js";
import { pages } from "./page-routes.js";
import type { Scene } from "./scene.js";
import type { StandInStripe } from "./stand-in-stripe.js";

const BODY_MAX_BYTES = 256 * 1_024;

/** The HTTP application of the stand-in: the API, its pages, and its control. */
export function application(scene: Scene, api: Api, standIn: StandInStripe): Express {
  const app = express();
  app.disable("x-powered-by");
  app.disable("etag");
  app.use("/_stand-in", control(standIn));
  app.use("/v1", express.text({ type: () => true, inflate: false, limit: BODY_MAX_BYTES }), serveApi(api));
  app.use(pages(scene));
  return app;
}

const serveApi =
  (api: Api): Handler =>
  async (request, response) => {
    const { originalUrl, method, headers } = request;
    const [path = "", query = ""] = originalUrl.split("?");
    const body: unknown = request.body;
    const encoded = [query, typeof body === "string" ? body : ""].filter((part) => part !== "").join("&");
    write(await api.answer({ method, path, encoded, headers }), response);
  };

function write(outgoing: Outgoing, response: Response): void {
  if (outgoing.kind === "silence") return;
  if (outgoing.kind === "cut") response.socket?.destroy();
  else response.writeHead(outgoing.status, outgoing.headers).end(outgoing.body);
}
