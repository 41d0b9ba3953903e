import type { Person } from "./doors.js";
import type { Guide } from "./guide.js";
import type { Mails } from "./mails.js";
import { titlesIn } from "./walk-graph.js";

/** The users of a walk, and their mails. */
export interface TourUsers {
  readonly mails: Mails;
  readonly names: readonly [string, string];
  readonly addressOf: (name: string) => string;
}

/** A team and its owner. */
export interface OwnedTeam {
  readonly owner: Person;
  readonly teamId: string;
}

const CODE = /^ *(\d{8})$/m;
const TOKEN = /\/invitations\/([\w-]{43})$/m;
const INVITE = "mutation ($input: InviteMemberInput!) { inviteMember(input: $input) { id status link } }";

/** Two people sign up by e-mail, become a team and read the same graph. */
export async function walkTeam(guide: Guide, users: TourUsers): Promise<OwnedTeam> {
  const [ann, bob] = users.names;
  guide.heading("Two people, one team");
  const ownedTeam = await createTeamAsOwner(guide, users);
  const email = users.addressOf(bob);
  await guide.step({
    title: `${ann} says her name`,
    as: ownedTeam.owner,
    rest: { method: "PATCH", path: "/users/me", body: { name: ann } },
    graphql: {
      document: "mutation ($input: UpdateAccountInput!) { updateAccount(input: $input) { name email } }",
      variables: { input: { name: ann } },
    },
    isRight: ({ name }) => name === ann,
    shows: "The people whom she invites will see it.",
  });
  const shows = `${bob} gets a mail with a token, which is only there. The \`link\` lets it be mailed again.`;
  const invitationId = String((await invite(guide, ownedTeam, { email, shows }))["id"]);
  await guide.step({
    title: `${ann} sends the mail again`,
    as: ownedTeam.owner,
    rest: { method: "POST", path: `/teams/${ownedTeam.teamId}/invitations/${invitationId}/resend` },
    graphql: {
      document: "mutation ($input: RevokeInvitationInput!) { resendInvitation(input: $input) { status } }",
      variables: { input: { teamId: ownedTeam.teamId, invitationId } },
    },
    isRight: ({ status }) => isEnumValue(status, "pending"),
    shows: "The links in both mails work, for another week.",
  });
  const { file, found: token } = await users.mails.find(email, TOKEN);
  guide.note(`${bob} reads the token in ${file}: ${token}`);

  const invitee = await signUp(guide, users, bob);
  await guide.step({
    title: `${bob} accepts`,
    as: invitee,
    rest: { method: "POST", path: `/teams/invitations/${token}/accept` },
    graphql: {
      document: "mutation ($input: AnswerInvitationInput!) { acceptInvitation(input: $input) { status } }",
      variables: { input: { token } },
    },
    isRight: ({ status }) => isEnumValue(status, "accepted"),
    shows: `${bob} is a member now. The link in the mail does the same in a browser.`,
  });

  const memory = { type: "solution", title: "Use jitter", content: "So that clients do not all retry at once." };
  await guide.step({
    title: `${ann} stores a memory`,
    as: ownedTeam.owner,
    rest: { method: "POST", path: "/v1/memories", body: memory },
    graphql: {
      document: "mutation ($input: CreateMemoryInput!) { createMemory(input: $input) { id title } }",
      variables: { input: memory },
    },
    shows: "Members work on the team's graph, unless a request says graph=personal.",
  });
  await guide.step({
    title: `${bob} searches`,
    as: invitee,
    rest: { method: "GET", path: "/v1/memories/search?query=jitter" },
    graphql: { document: `{ searchMemories(query: "jitter") { memories { relevance memory { title } } } }` },
    isRight: ({ memories }) => titlesIn(memories).includes(memory.title),
    shows: `${bob} finds what ${ann} stored.`,
  });
  await guide.step({
    title: `${ann} lists the members`,
    as: ownedTeam.owner,
    rest: { method: "GET", path: `/teams/${ownedTeam.teamId}/members` },
    graphql: {
      document: "query ($id: ID!) { teamMembers(teamId: $id) { members { email role } } }",
      variables: { id: ownedTeam.teamId },
    },
    isRight: ({ members }) => Array.isArray(members) && members.length === 2,
    shows: "Two members: the owner and the invited person.",
  });
  return ownedTeam;
}

/** One person signs up and creates a team of up to five, which costs nothing. */
export async function createTeamAsOwner(guide: Guide, users: TourUsers): Promise<OwnedTeam> {
  const [name] = users.names;
  const owner = await signUp(guide, users, name);
  const team = await guide.step({
    title: `${name} creates a team`,
    as: owner,
    rest: { method: "POST", path: "/teams", body: { name: "Platform", max_members: 5 } },
    graphql: {
      document: "mutation ($input: CreateTeamInput!) { createTeam(input: $input) { id name maxMembers } }",
      variables: { input: { name: "Platform", maxMembers: 5 } },
    },
    shows: `${name} owns it. Up to five members cost nothing.`,
  });
  return { owner, teamId: String(team["id"]) };
}

async function signUp(guide: Guide, { mails, addressOf }: TourUsers, name: string): Promise<Person> {
  const email = addressOf(name);
  await guide.step({
    title: `${name} requests a code`,
    rest: { method: "POST", path: "/signup", body: { email } },
    graphql: {
      document: "mutation ($input: SignUpInput!) { signUp(input: $input) { email } }",
      variables: { input: { email } },
    },
    shows: "The answer is the same for known and unknown addresses; the code comes by mail.",
  });
  const { file, found: code } = await mails.find(email, CODE);
  guide.note(`${name} reads the code in ${file}: ${code}`);
  const confirmed = await guide.step({
    title: `${name} confirms the address`,
    rest: { method: "POST", path: "/signup/confirm", body: { email, code } },
    graphql: {
      document: "mutation ($input: ConfirmSignUpInput!) { confirmSignUp(input: $input) { key } }",
      variables: { input: { email, code } },
    },
    shows: "The answer contains a key, which is shown only once.",
  });
  return guide.meet(name, confirmed["key"]);
}

export const invite = (
  guide: Guide,
  { owner, teamId }: OwnedTeam,
  { email, ...rest }: { email: string; shows: string; refusal?: string },
) =>
  guide.step({
    title: `Invite ${email}`,
    as: owner,
    ...rest,
    rest: { method: "POST", path: `/teams/${teamId}/invitations`, body: { email, role: "member" } },
    graphql: { document: INVITE, variables: { input: { teamId, email, role: "MEMBER" } } },
  });

/** Compares an enum value, which is in upper case in GraphQL. */
export const isEnumValue = (value: unknown, word: string): boolean => String(value).toLowerCase() === word;
