/** Everything that an audit entry can be about: operations by their names, and what the service or its operator does. */
const AUDIT_ACTIONS = [
  ...["confirmSignUp", "createApiKey", "rotateApiKey", "revokeApiKey", "deleteAccount"],
  ...["deleteMemory", "shareMemories"],
  ...["createTeam", "updateTeam", "deleteTeam", "leaveTeam", "transferTeam", "updateMemberRole", "removeMember"],
  ...["inviteMember", "revokeInvitation", "acceptInvitation", "declineInvitation"],
  ...["createTeamCheckout", "upgradeTeam", "cancelTeamSubscription"],
  ...["endSecondSubscription", "endOrphanedSubscription"],
  ...["setPlan", "renameUser", "verifyUser", "suspendUser", "unsuspendUser", "revokeKeys", "deleteUser"],
] as const;
export type AuditAction = (typeof AUDIT_ACTIONS)[number];

/**
 * The action of an operation that is recorded; declarations hold that there is one.
 * @throws Error for a name that is none.
 */
export function actionNamed(name: string): AuditAction {
  const action = AUDIT_ACTIONS.find((known) => known === name);
  if (!action) throw new Error(`${name} is no action of the audit.`);
  return action;
}
