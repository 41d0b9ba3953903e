import { html } from "../../platform/html.js";
import type { InvitationToSend } from "../teams/index.js";
import { type Letter, letter } from "./letter.js";
import { nameForSubject, nameForText } from "./names.js";

const ROLES = { admin: "an admin", member: "a member" } as const;

/** The mail that invites a person to a team; its token is nowhere else. */
export function invitationMail(invitation: InvitationToSend, publicUrl: string): Letter {
  const { token, expiresAt } = invitation;
  const team = nameForText(invitation.teamName);
  const { inviterName, inviterEmail } = invitation;
  const inviter = inviterName === null ? inviterEmail : `${nameForText(inviterName)} (${inviterEmail})`;
  const link = `${publicUrl}/invitations/${token}`;
  const ends = `${expiresAt.toISOString().slice(0, 16).replace("T", " ")} UTC`;
  const curl = `curl -X POST ${publicUrl}/teams/invitations/${token}/accept -H "Authorization: Bearer $KEY"`;
  const offer = `${inviter} invites you to the team "${team}" on Memory Graph, as ${ROLES[invitation.role]}.`;
  return letter({
    subject: subjectOf(invitation),
    text: `
${offer}

Accept or decline here, until ${ends}:
${link}

Whoever has a key of this address may also use the token ${token}:
${curl}

If you do not know what this is about, ignore it: nothing happens without your answer.`,
    body: html`<p>${offer}</p>
      <p><a href="${link}">Accept or decline</a>, until ${ends}. The link in full:<br />${link}</p>
      <p>Whoever has a key of this address may also use the token <code>${token}</code>:</p>
      <pre>${curl}</pre>
      <p>If you do not know what this is about, ignore it: nothing happens without your answer.</p>`,
  });
}

/** What would look like a link in it is left out: the address is proven, names are whatever somebody wrote. */
function subjectOf({ inviterName, inviterEmail, teamName }: InvitationToSend): string {
  const name = inviterName === null ? null : nameForSubject(inviterName);
  const team = nameForSubject(teamName);
  const who = name === null ? inviterEmail : `${name} (${inviterEmail})`;
  const what = team === null ? "a team on Memory Graph" : `the team ${team}`;
  return LINK_IN_ADDRESS.test(inviterEmail) ? `You are invited to ${what}` : `${who} invites you to ${what}`;
}

/** Nearly anything may stand before the at sign of an address. */
const LINK_IN_ADDRESS = /\/|www\./;
