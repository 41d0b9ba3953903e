import type { TeamRole } from "../../operation/context.js";
import { type Html, html, isolate } from "../../platform/html.js";
import { minuteOf } from "../../wording.js";
import { type Place, linkTo } from "./account-frame.js";
import { describeField } from "./forms.js";
import { tableOf } from "./layout.js";

/** A member in the output of the operation `teamMembers`. */
export interface ShownMember {
  readonly userId: string;
  readonly email: string;
  readonly name: string | null;
  readonly role: TeamRole;
}

/** An invitation in the output of the operation `teamInvitations`. */
export interface PendingInvitation {
  readonly id: string;
  readonly email: string;
  readonly role: Exclude<TeamRole, "owner">;
  readonly expiresAt: Date;
  readonly bouncedAt: Date | null;
  readonly link: string;
}

/** What can be done with people. Each is an operation, which says who may use it. */
export type PeopleForm =
  | "inviteMember"
  | "resendInvitation"
  | "revokeInvitation"
  | "updateMemberRole"
  | "removeMember"
  | "leaveTeam";

/** A page of the team's members, and one of its pending invitations, with what the caller may do. */
export interface People {
  readonly team: { readonly id: string; readonly memberCount: number; readonly maxMembers: number };
  readonly members: readonly ShownMember[];
  readonly moreMembers: string | null;
  /** Undefined for who may not see them. */
  readonly invitations: readonly PendingInvitation[] | undefined;
  readonly moreInvitations: string | null;
  readonly may: (form: PeopleForm) => boolean;
  /** Whether the caller may change this member, who is somebody else. */
  readonly manages: (member: ShownMember) => boolean;
  readonly callerId: string;
}

/** The team's invitations and members, with the forms that the caller may use. */
export const peoplePart = (people: People, place: Place): Html =>
  html`<div id="people">
    ${doneNote(place)}${people.invitations && invitationsPart(people.invitations, people, place)}
    ${membersPart(people, place)}
  </div>`;

export const doneNote = ({ isDone }: Place): Html | undefined =>
  isDone ? html`<p role="status">Done.</p>` : undefined;

function invitationsPart(invitations: readonly PendingInvitation[], people: People, place: Place): Html {
  const rows = invitations.map((invitation) => {
    const { email, role, expiresAt, bouncedAt } = invitation;
    const bounced = bouncedAt && ". The mail could not be delivered. Check the address, or send the link.";
    const until = html`${minuteOf(expiresAt)}${bounced}`;
    return { cells: [isolate(email), role, until, invitationActions(invitation, people, place.here)] };
  });
  return html`<h2>Invitations</h2>
    ${people.may("inviteMember") && inviteForm(people, place)}
    ${rows.length === 0 ? html`<p>No invitation waits for its answer.</p>` : tableOf(INVITATION_HEADINGS, rows)}
    ${more(place.here, "invitations", people.moreInvitations)}`;
}

const INVITATION_HEADINGS = ["Invited", "Role", "Until", "Actions"];

function inviteForm({ team }: People, { here, problem, invited }: Place): Html {
  const about = describeField("about-invite", invited === undefined ? undefined : problem);
  return formOf(
    here,
    "/invite",
    { team: team.id },
    html`<label for="invite">E-mail address</label>
      <input
        id="invite"
        name="email"
        type="email"
        value="${invited}"
        required
        maxlength="254"
        autocomplete="off"
        ${about}
      />
      <p class="aside" id="about-invite">
        A mail with a link is sent there. The invitation takes one of the team's ${team.maxMembers} seats. An admin can
        invite, change roles, and remove everybody but the owner.
      </p>
      <button class="main" name="role" value="member">Invite as member</button>
      <button name="role" value="admin">Invite as admin</button>`,
  );
}

function invitationActions({ id, email, link }: PendingInvitation, { team, may }: People, here: string): Html {
  const named = { team: team.id, invitation: id };
  const sent = formOf(here, "/resend", named, html`<button>Send the mail again</button>`);
  const revoked = html`${sureField("The link in the mail will no longer work.")}<button>Revoke the invitation</button>`;
  return unfold(
    "Change",
    email,
    html`<p>Its link, which you can send in any way: <code tabindex="0">${link}</code></p>
      ${may("resendInvitation") && sent}${may("revokeInvitation") && formOf(here, "/revoke", named, revoked)}`,
  );
}

const LEAVING =
  "You lose access to the team's memories, and pending invitations that you sent are revoked. What you stored there " +
  "stays.";

function membersPart(people: People, { here }: Place): Html {
  const { team, members, callerId, manages } = people;
  const hasActions = people.may("updateMemberRole") || people.may("removeMember");
  const rows = members.map((member) => {
    const { userId, email, name, role } = member;
    const cells = [html`${isolate(email)}${userId === callerId && " (you)"}`, name === null ? "" : isolate(name), role];
    return { cells: hasActions ? [...cells, manages(member) && memberActions(member, people, here)] : cells };
  });
  const left = html`${sureField(LEAVING)} <button>Leave the team</button>`;
  const shown = members.length < team.memberCount && html`<p>${members.length} of ${team.memberCount} members:</p>`;
  return html`<h2>Members</h2>
    ${shown}${tableOf(["Member", "Name", "Role", ...(hasActions ? ["Actions"] : [])], rows)}
    ${more(here, "members", people.moreMembers)}
    ${people.may("leaveTeam") && unfold("Leave the team", "", formOf(here, "/leave", { team: team.id }, left))}`;
}

const REMOVAL =
  "This person loses access to the team's memories, and pending invitations that they sent are revoked. What they " +
  "stored there stays.";

function memberActions({ userId, email, role }: ShownMember, { team, may }: People, here: string): Html {
  const named = { team: team.id, member: userId };
  const changed =
    role === "admin"
      ? html`<p class="aside">Pending invitations that this admin sent are revoked.</p>
          <button name="role" value="member">Make a member</button>`
      : html`<button name="role" value="admin">Make an admin</button>`;
  const removed = html`${sureField(REMOVAL)}<button>Remove from the team</button>`;
  return unfold(
    "Change",
    email,
    html`${may("updateMemberRole") && formOf(here, "/role", named, changed)}
    ${may("removeMember") && formOf(here, "/remove", named, removed)}`,
  );
}

/** The forms name the team and the person: an old page changes nothing in another team. */
const formOf = (here: string, below: string, named: Readonly<Record<string, string>>, body: Html): Html =>
  html`<form method="post" action="${linkTo(here, below)}">
    ${Object.entries(named).map(([name, value]) => html`<input type="hidden" name="${name}" value="${value}" />`)}${body}
  </form>`;

/** For what cannot be taken back. */
const sureField = (consequence: string): Html =>
  html`<label><input type="checkbox" name="sure" required /> ${consequence}</label>`;

/** @param whom for people who do not see the row in which it is */
const unfold = (text: string, whom: string, body: Html): Html =>
  html`<details>
    <summary ${whom && html`aria-label="${text} ${whom}"`}>${text}</summary>
    ${body}
  </details>`;

const more = (here: string, list: "members" | "invitations", cursor: string | null): Html | undefined =>
  cursor === null ? undefined : html`<p><a href="${linkTo(here)}?${list}=${cursor}#people">More ${list}</a></p>`;
