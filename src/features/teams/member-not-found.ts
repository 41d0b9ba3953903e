import { Failure } from "../../operation/failure.js";

export class MemberNotFound extends Failure {
  readonly kind = "not_found";
  override readonly reason = "no_such_member";

  constructor() {
    super("The team has no member with this user id. `teamMembers` lists them.");
  }
}
