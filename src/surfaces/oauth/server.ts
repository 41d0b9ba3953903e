import type { IncomingMessage, ServerResponse } from "node:http";
import { Failure } from "../../operation/failure.js";
import type { Scope } from "../../operation/permission.js";

/** The request is unknown to this browser, was answered, or has expired. */
export class RequestGone extends Failure {
  readonly kind = "bad_request";
  override readonly reason = "request_gone";

  constructor() {
    super("This request was answered or has expired. Go back to the program, and connect it again.");
  }
}

/** What the authorization server remembers. `features/oauth` stores it. */
export interface OAuthStore {
  /** False if the account that it belongs to is gone. */
  store(kind: string, id: string, payload: Readonly<Record<string, unknown>>, seconds?: number): Promise<boolean>;
  /** @throws AccountSuspended for the grant of a user who is suspended. */
  find(kind: string, id: string): Promise<Readonly<Record<string, unknown>> | null>;
  /** False if it was used before. */
  consume(kind: string, id: string): Promise<boolean>;
  remove(kind: string, id: string): Promise<void>;
  removeOfGrant(kind: string, grantId: string): Promise<void>;
}

/** A request of a client that waits for a person's answer, on the page that shows it. */
export interface PendingRequest {
  readonly id: string;
  readonly clientName: string | undefined;
  /** Where the person is sent back to with the answer. */
  readonly redirectUri: string;
  readonly scopes: readonly Scope[];
  /** The address that a code was sent to. */
  readonly email: string | undefined;
  rememberEmail(email: string): Promise<void>;
  /** Both answers redirect the person. */
  agree(connected: { readonly keyId: string; readonly userId: string }): Promise<void>;
  refuse(description: string): Promise<void>;
}

/** The authorization server, as the routes use it: its code is loaded only where OAuth is configured. */
export interface AuthorizationServer {
  answer(request: IncomingMessage, response: ServerResponse): Promise<void>;
  /** @throws RequestGone when this browser has no such request, or it has expired. */
  pending(request: IncomingMessage, response: ServerResponse): Promise<PendingRequest>;
}
