import { type ErrorRequestHandler, type Handler, type Request, type Response, Router } from "express";
import type { Context, Services } from "../../operation/context.js";
import { Failure, InvalidInput } from "../../operation/failure.js";
import type { Operation } from "../../operation/operation.js";
import { formIn, readBodyUpTo } from "../body.js";
import { noteFailure } from "../http.js";
import { linkFrom } from "../navigation.js";
import { refuseOtherMethods } from "../plain-errors.js";
import { contextOfPage, runOnPage } from "../run-on-page.js";
import {
  type ShownInvitation,
  acceptedPage,
  declinedPage,
  failurePage,
  invitationPage,
  isPending,
  linkById,
  linkTo,
  linkedPage,
} from "./invitation.js";
import { setPageHeaders } from "./layout.js";

/** A form contains only a code and an answer. */
const FORM_MAX_BYTES = 4_096;

/**
 * The page that an invitation's mail links to, for people without a key: they request a code, and answer with it.
 * A page of another site cannot answer for them: it knows neither the token in the URL nor the code. Also the page of
 * its `link`, on which they have the mail sent again; a page of another site that knows the link can do no more.
 */
export function invitationPages(parts: InvitationParts): Router {
  const router = Router({ caseSensitive: true, strict: true });
  const pages = Router({ caseSensitive: true, strict: true });
  pages.use(setPageHeaders);
  pages.get("/:token", show(parts));
  pages.post("/:token/code", sendCode(parts));
  pages.get("/by-id/:id", showLinked(parts));
  pages.post("/by-id/:id/mail", mailLinked(parts));
  pages.post("/:token/answer", readBodyUpTo(FORM_MAX_BYTES), answer(parts));
  // A phone may drop the page while its owner reads the mail with the code, and then opens the last form's address.
  pages.get("/by-id/:id/mail", (request, response) => response.redirect(303, linkById(linkedPlaceIn(request))));
  pages.get(["/:token/code", "/:token/answer"], askForCode);
  pages.use(showFailure);
  pages.all(["/:token", "/by-id/:id"], refuseOtherMethods(["GET", "HEAD"]));
  pages.all(["/:token/code", "/:token/answer", "/by-id/:id/mail"], refuseOtherMethods(["GET", "HEAD", "POST"]));
  return router.use("/invitations", pages);
}

/** What the page runs. Given as parameters, since doors may not import features. */
interface InvitationParts {
  readonly services: Services;
  readonly invitation: Operation<{ token: string }, ShownInvitation>;
  readonly invitationById: Operation<{ invitationId: string }, ShownInvitation>;
  readonly mailInvitation: Operation<{ invitationId: string }>;
  readonly signUp: Operation<{ email: string }>;
  /** Returns the key of a person who joins. */
  answerByCode(context: Context, answer: Answer & { readonly token: string }): Promise<string | undefined>;
}

const tokenIn = (request: Request): string => String(request.params["token"]);

/** The path of the page that answers this request, and its token. */
const placeIn = (request: Request) => ({ here: request.baseUrl + request.path, token: tokenIn(request) });

const invitationIn = (parts: InvitationParts, request: Request, response: Response): Promise<ShownInvitation> =>
  runOnPage(parts.services, response, parts.invitation, { token: tokenIn(request) });

const show =
  (parts: InvitationParts): Handler =>
  async (request, response) => {
    const invitation = await invitationIn(parts, request, response);
    const situation = { ...placeIn(request), codeSent: "code" in request.query };
    // An invitation that has ended cannot be answered, which is a conflict: programs see it by the status.
    response.status(isPending(invitation) ? 200 : 409).send(invitationPage(invitation, situation));
  };

const idIn = (request: Request): string => String(request.params["id"]);

/** The path of the page that answers this request, and the invitation's id. */
const linkedPlaceIn = (request: Request) => ({ here: request.baseUrl + request.path, id: idIn(request) });

const linkedIn = (parts: InvitationParts, request: Request, response: Response): Promise<ShownInvitation> =>
  runOnPage(parts.services, response, parts.invitationById, { invitationId: idIn(request) });

const showLinked =
  (parts: InvitationParts): Handler =>
  async (request, response) => {
    const invitation = await linkedIn(parts, request, response);
    const text = linkedPage(invitation, { ...linkedPlaceIn(request), mailed: "mailed" in request.query });
    response.status(isPending(invitation) ? 200 : 409).send(text);
  };

const mailLinked =
  (parts: InvitationParts): Handler =>
  async (request, response) => {
    const isOpen = isPending(await linkedIn(parts, request, response));
    if (isOpen) await runOnPage(parts.services, response, parts.mailInvitation, { invitationId: idIn(request) });
    // Redirected to a GET, so that reloading the page does not send another mail.
    response.redirect(303, `${linkById(linkedPlaceIn(request))}?mailed`);
  };

const sendCode =
  (parts: InvitationParts): Handler =>
  async (request, response) => {
    const invitation = await invitationIn(parts, request, response);
    if (isPending(invitation)) await runOnPage(parts.services, response, parts.signUp, { email: invitation.email });
    // Redirected to a GET, so that reloading the page does not send another code.
    askForCode(request, response);
  };

const askForCode = (request: Request, response: Response): void =>
  response.redirect(303, `${linkTo(placeIn(request))}?code`);

const answer =
  (parts: InvitationParts): Handler =>
  async (request, response) => {
    const place = placeIn(request);
    const given = answerIn(formIn(request));
    let invitation = await invitationIn(parts, request, response);
    // Checked before the code, which would be used up for nothing.
    if (isPending(invitation)) {
      try {
        const context = contextOfPage(parts.services, response, "answerByCode");
        const key = await parts.answerByCode(context, { ...given, token: place.token });
        response.send(key === undefined ? declinedPage(invitation) : acceptedPage(invitation, key, place.here));
        return;
      } catch (error) {
        if (!(error instanceof Failure)) throw error;
        // A second click, or another tab, may have answered it with the same code.
        invitation = await invitationIn(parts, request, response);
        if (isPending(invitation)) {
          if (error.kind !== "bad_request") throw error;
          noteFailure(error, response);
          response.send(invitationPage(invitation, { ...place, codeSent: true, problem: error }));
          return;
        }
      }
    }
    response.status(409).send(invitationPage(invitation, { ...place, codeSent: false }));
  };

interface Answer {
  readonly code: string;
  readonly accepts: boolean;
}

/** @throws InvalidInput when the body does not come from the page's form. */
function answerIn(form: URLSearchParams): Answer {
  const answer = form.get("answer");
  const code = form.get("code");
  if (code === null || (answer !== "accept" && answer !== "decline")) {
    throw InvalidInput.at("", "The form is incomplete. Open the invitation's page and send its form.");
  }
  return { code, accepts: answer === "accept" };
}

const showFailure: ErrorRequestHandler = (error: unknown, { baseUrl, path }, response, next) => {
  const failure = noteFailure(error, response);
  if (response.headersSent) return next(error);
  // The code of an answer that failed is still valid.
  const back = baseUrl + path.replace(/\/(?:code|mail)$/, "").replace(/\/answer$/, "?code");
  response.send(failurePage(failure, linkFrom(baseUrl + path, { path: back })));
};
