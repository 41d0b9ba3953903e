import { MemberUser, TeamMembersRelation, teamMembers } from "./list-members.js";
import { removeMember } from "./remove-member.js";
import { updateMemberRole } from "./update-member-role.js";

export { AssignableRole } from "./update-member-role.js";

export const memberOperations = [teamMembers, updateMemberRole, removeMember] as const;

export const memberRelations = [TeamMembersRelation, MemberUser] as const;
