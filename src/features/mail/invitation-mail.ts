import { PRODUCT } from "../../operation/product.js";
import { html } from "../../platform/html.js";
import { minuteOf } from "../../wording.js";
import { addressForText, hasLink } from "../access/index.js";
import type { InvitationToSend } from "../teams/index.js";
import { type Letter, composeLetter } from "./letter.js";
import { nameForSubject, nameForText } from "./names.js";

const ROLES = { admin: "an admin", member: "a member" } as const;

/** The mail that invites a person to a team. Its token is only in this mail. */
export function invitationMail(invitation: InvitationToSend, publicUrl: string): Letter {
  const { token, expiresAt } = invitation;
  const team = nameForText(invitation.teamName);
  const { inviterName, inviterEmail } = invitation;
  const address = addressForText(inviterEmail);
  const inviter = inviterName === null ? address : `${nameForText(inviterName)} (${address})`;
  const link = `${publicUrl}/invitations/${token}`;
  const ends = minuteOf(expiresAt);
  const curl = `curl -X POST ${publicUrl}/teams/invitations/${token}/accept -H "Authorization: Bearer $KEY"`;
  const offer = `${inviter} invites you to the team "${team}" on Memory Graph, as ${ROLES[invitation.role]}.`;
  const content = composeLetter({
    subject: subjectOf(invitation),
    text: `
${offer}

${PRODUCT}

Accept or decline here, until ${ends}:
${link}

If you have an API key for this address, you can also use the token ${token}:
${curl}

If you do not know what this is about, ignore this mail: nothing happens without your answer.`,
    body: html`<p>${offer}</p>
      <p>${PRODUCT}</p>
      <p><a href="${link}">Accept or decline</a>, until ${ends}. The link in full:<br />${link}</p>
      <p>If you have an API key for this address, you can also use the token <code>${token}</code>:</p>
      <pre style="white-space: pre-wrap">${curl}</pre>
      <p>If you do not know what this is about, ignore this mail: nothing happens without your answer.</p>`,
  });
  return { ...content, replyTo: inviterEmail };
}

/** Leaves out names that could become a link: unlike the address, they are not verified. */
function subjectOf({ inviterName, inviterEmail, teamName }: InvitationToSend): string {
  const name = inviterName === null ? null : nameForSubject(inviterName);
  const team = nameForSubject(teamName);
  const who = name === null ? inviterEmail : `${name} (${inviterEmail})`;
  const what = team === null ? "a team on Memory Graph" : `the team ${team}`;
  return hasLink(inviterEmail) ? `You are invited to ${what}` : `${who} invites you to ${what}`;
}
