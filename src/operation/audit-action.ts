/** Every action of the audit: the names of operations, and what the service or its operator does. */
const AUDIT_ACTIONS = [
  "confirmSignUp",
  "createApiKey",
  "rotateApiKey",
  "revokeApiKey",
  "updateAccount",
  "changeEmail",
  "deleteAccount",
  "connectClient",
  "disconnectClient",
  "deleteMemory",
  "deleteMemories",
  "restoreMemories",
  "shareMemories",
  "createTeam",
  "updateTeam",
  "deleteTeam",
  "leaveTeam",
  "transferTeam",
  "updateMemberRole",
  "removeMember",
  "inviteMember",
  "resendInvitation",
  "revokeInvitation",
  "acceptInvitation",
  "declineInvitation",
  "createTeamCheckout",
  "upgradeTeam",
  "downgradeTeam",
  "cancelTeamSubscription",
  "resumeTeamSubscription",
  "openBillingPortal",
  "endSecondSubscription",
  "endOrphanedSubscription",
  "createUser",
  "createKey",
  "setPlan",
  "renameUser",
  "verifyUser",
  "suspendUser",
  "unsuspendUser",
  "revokeKeys",
  "deleteUser",
  "forgetAddress",
] as const;
export type AuditAction = (typeof AUDIT_ACTIONS)[number];

/**
 * The action with the name of a recorded operation. The types of declarations ensure that there is one.
 * @throws Error for an unknown name.
 */
export function actionNamed(name: string): AuditAction {
  const action = AUDIT_ACTIONS.find((known) => known === name);
  if (!action)
    throw new Error(`${name} is no action of the audit: add it to AUDIT_ACTIONS in src/operation/audit-action.ts.`);
  return action;
}
