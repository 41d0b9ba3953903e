import { type ErrorRequestHandler, type Handler, type Request, type Response, Router } from "express";
import { type Services, contextOf } from "../../operation/context.js";
import { execute } from "../../operation/execute.js";
import { Failure, InvalidInput } from "../../operation/failure.js";
import type { Operation } from "../../operation/operation.js";
import { type Identify, identifyCaller } from "../authentication.js";
import { codeIn, formIn, readBodyUpTo } from "../body.js";
import { noteFailure } from "../http.js";
import { refuseOtherMethods } from "../plain-errors.js";
import { scopeOf } from "../request-scope.js";
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
  refusedPage,
} from "./invitation.js";
import { PAGE_HEADERS } from "./layout.js";

/** A form contains only a code and an answer. */
const FORM_MAX_BYTES = 4_096;

/**
 * The page that an invitation's mail links to, for people without a key: they request a code, and answer with it.
 * A page of another site cannot answer for them: it knows neither the token in the URL nor the code. Also the page of
 * its `link`, on which they have the mail sent again; a page of another site that knows the link can do no more.
 */
export function invitationPages(operations: InvitationOperations, parts: DoorParts): Router {
  const router = Router({ caseSensitive: true, strict: true });
  const pages = Router({ caseSensitive: true, strict: true });
  const door = new PageDoor(operations, parts);
  pages.use(pageHeaders);
  pages.get("/:token", show(door));
  pages.post("/:token/code", sendCode(door));
  pages.get("/by-id/:id", showLinked(door));
  pages.post("/by-id/:id/mail", mailLinked(door));
  pages.post("/:token/answer", readBodyUpTo(FORM_MAX_BYTES), answer(door));
  // A phone may drop the page while its owner reads the mail with the code, and then opens the last form's address.
  pages.get("/by-id/:id/mail", (request, response) => response.redirect(303, linkById(linkedPlaceIn(request))));
  pages.get(["/:token/code", "/:token/answer"], askForCode);
  pages.use(showFailure);
  pages.all(["/:token", "/by-id/:id"], refuseOtherMethods(["GET", "HEAD"]));
  pages.all(["/:token/code", "/:token/answer", "/by-id/:id/mail"], refuseOtherMethods(["GET", "HEAD", "POST"]));
  return router.use("/invitations", pages);
}

const pageHeaders: Handler = (_request, response, next) => {
  response.set(PAGE_HEADERS);
  next();
};

/** The operations that the page runs. Given as parameters, since doors may not import features. */
export interface InvitationOperations {
  readonly invitation: Operation<{ token: string }, ShownInvitation>;
  readonly invitationById: Operation<{ invitationId: string }, ShownInvitation>;
  readonly mailInvitation: Operation<{ invitationId: string }>;
  readonly acceptInvitation: Operation<{ token: string }>;
  readonly declineInvitation: Operation<{ token: string }>;
  readonly signUp: Operation<{ email: string }>;
  readonly confirmSignUp: Operation<{ email: string; code: string; keyName?: string | null }, NewKey>;
  readonly revokeApiKey: Operation<{ id: string }>;
}

interface NewKey {
  readonly id: string;
  readonly key: string;
}

interface DoorParts {
  readonly services: Services;
  readonly identify: Identify;
}

/** Runs operations through `execute`, like every door. */
class PageDoor {
  readonly operations: InvitationOperations;
  readonly #parts: DoorParts;

  constructor(operations: InvitationOperations, parts: DoorParts) {
    this.operations = operations;
    this.#parts = parts;
  }

  /** Runs an operation with the given key, or anonymously without one. */
  async run<Input extends object, Output extends object>(
    response: Response,
    operation: Operation<Input, Output>,
    input: Input,
    key?: string,
  ): Promise<Output> {
    const { services, identify } = this.#parts;
    const scope = scopeOf(response);
    scope.operations.push(operation.name);
    if (key !== undefined) await identifyCaller(scope, identify, `Bearer ${key}`);
    const { caller, clientAddress, patience, pause } = scope;
    const context = contextOf(services, { caller, clientAddress, door: "page", patience, pause });
    return execute(operation, context, Object.assign(new operation.input(), input));
  }
}

const tokenIn = (request: Request): string => String(request.params["token"]);

/** The path of the page that answers this request, and its token. */
const placeIn = (request: Request) => ({ here: request.baseUrl + request.path, token: tokenIn(request) });

const invitationIn = (door: PageDoor, request: Request, response: Response): Promise<ShownInvitation> =>
  door.run(response, door.operations.invitation, { token: tokenIn(request) });

const show =
  (door: PageDoor): Handler =>
  async (request, response) => {
    const invitation = await invitationIn(door, request, response);
    const situation = { ...placeIn(request), codeSent: "code" in request.query };
    // An invitation that has ended cannot be answered, which is a conflict: programs see it by the status.
    response.status(isPending(invitation) ? 200 : 409).send(invitationPage(invitation, situation));
  };

const idIn = (request: Request): string => String(request.params["id"]);

/** The path of the page that answers this request, and the invitation's id. */
const linkedPlaceIn = (request: Request) => ({ here: request.baseUrl + request.path, id: idIn(request) });

const linkedIn = (door: PageDoor, request: Request, response: Response): Promise<ShownInvitation> =>
  door.run(response, door.operations.invitationById, { invitationId: idIn(request) });

const showLinked =
  (door: PageDoor): Handler =>
  async (request, response) => {
    const invitation = await linkedIn(door, request, response);
    const text = linkedPage(invitation, { ...linkedPlaceIn(request), mailed: "mailed" in request.query });
    response.status(isPending(invitation) ? 200 : 409).send(text);
  };

const mailLinked =
  (door: PageDoor): Handler =>
  async (request, response) => {
    const { mailInvitation } = door.operations;
    const isOpen = isPending(await linkedIn(door, request, response));
    if (isOpen) await door.run(response, mailInvitation, { invitationId: idIn(request) });
    // Redirected to a GET, so that reloading the page does not send another mail.
    response.redirect(303, `${linkById(linkedPlaceIn(request))}?mailed`);
  };

const sendCode =
  (door: PageDoor): Handler =>
  async (request, response) => {
    const invitation = await invitationIn(door, request, response);
    if (isPending(invitation)) await door.run(response, door.operations.signUp, { email: invitation.email });
    // Redirected to a GET, so that reloading the page does not send another code.
    askForCode(request, response);
  };

const askForCode = (request: Request, response: Response): void =>
  response.redirect(303, `${linkTo(placeIn(request))}?code`);

const answer =
  (door: PageDoor): Handler =>
  async (request, response) => {
    const place = placeIn(request);
    const { token } = place;
    const { code, accepts } = answerIn(formIn(request));
    const invitation = await invitationIn(door, request, response);
    // Checked before the code, which would be used up for nothing.
    if (!isPending(invitation)) {
      response.status(409).send(invitationPage(invitation, { ...place, codeSent: false }));
      return;
    }
    const made = await confirmAddress(door, response, invitation.email, code);
    if (made instanceof Failure) {
      response.send(invitationPage(invitation, { ...place, codeSent: true, problem: made }));
      return;
    }
    const { acceptInvitation, declineInvitation, revokeApiKey } = door.operations;
    // Only a person who joins is shown the key. A key that nobody has seen must not stay valid.
    const revoke = () => door.run(response, revokeApiKey, { id: made.id });
    try {
      await door.run(response, accepts ? acceptInvitation : declineInvitation, { token }, made.key);
    } catch (error) {
      const failure = noteFailure(error, response);
      await revoke();
      response.send(failure ? refusedPage(failure, place) : failurePage(undefined));
      return;
    }
    if (!accepts) await revoke();
    response.send(accepts ? acceptedPage(invitation, made.key, place.here) : declinedPage(invitation));
  };

/** Returns the new key, or the failure if the code is wrong and another one can be tried. */
async function confirmAddress(door: PageDoor, response: Response, email: string, code: string) {
  try {
    return await door.run(response, door.operations.confirmSignUp, {
      email,
      code,
      keyName: "Invitation",
    });
  } catch (error) {
    const isWrong = error instanceof Failure && error.kind === "bad_request";
    const failure = isWrong ? noteFailure(error, response) : undefined;
    if (!failure) throw error;
    return failure;
  }
}

/** @throws InvalidInput when the body does not come from the page's form. */
function answerIn(form: URLSearchParams): { code: string; accepts: boolean } {
  const answer = form.get("answer");
  if (!form.has("code") || (answer !== "accept" && answer !== "decline")) {
    throw new InvalidInput([
      { path: "", message: "The form is incomplete. Open the invitation's page and send its form." },
    ]);
  }
  return { code: codeIn(form), accepts: answer === "accept" };
}

const showFailure: ErrorRequestHandler = (error: unknown, _request, response, next) => {
  const failure = noteFailure(error, response);
  if (response.headersSent) return next(error);
  response.send(failurePage(failure));
};
