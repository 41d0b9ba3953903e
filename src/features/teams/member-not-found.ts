import { Failure } from "../../operation/failure.js";

export class MemberNotFound extends Failure {
  readonly kind = "not_found";

  constructor() {
    super("The team has no member with this user id. `teamMembers` lists them.");
  }
}
