import type { Subject } from "./example.js";
import type { Ids } from "./ids.js";

const teamIn = ({ team: [first = "the id of your team"] = [] }: Ids): string => first;
const newKeyIn = ({ key: [first = "the id of a key"] = [] }: Ids): string => first;
const invitationIn = ({ invitation: [first = "the id of an invitation"] = [] }: Ids): string => first;

/** Only the invited person gets the token, so an example can only say where it is. */
const TOKEN = "the end of the link in the mail";

const TEAM: Subject = {
  name: "Team",
  examples: [
    {
      title: "Create a team",
      about: "Its graph is shared by all members; you own it.",
      document: `mutation FoundTeam($input: CreateTeamInput!) {
  createTeam(input: $input) {
    id
    name
    maxMembers
  }
}
`,
      variables: () => ({ input: { name: "Platform", maxMembers: 5 } }),
    },
    {
      title: "My team",
      about: "The team and its members.",
      document: `query MyTeam {
  myTeam {
    id
    name
    memberCount
    maxMembers
    members {
      email
      role
    }
  }
}
`,
    },
    {
      title: "Rename it",
      about: "For the owner.",
      document: `mutation RenameTeam($input: UpdateTeamInput!) {
  updateTeam(input: $input) {
    id
    name
    maxMembers
  }
}
`,
      variables: (ids) => ({ input: { teamId: teamIn(ids), name: "Platform and tools" } }),
    },
  ],
};

const INVITATIONS: Subject = {
  name: "Invitations",
  examples: [
    {
      title: "Invite somebody",
      about: "Sends a mail. For owner and admins, who may also send the link: it contains no secret.",
      document: `mutation Invite($input: InviteMemberInput!) {
  inviteMember(input: $input) {
    id
    email
    role
    expiresAt
    link
  }
}
`,
      variables: (ids) => ({ input: { teamId: teamIn(ids), email: "bob@example.com", role: "MEMBER" } }),
    },
    {
      title: "Open invitations",
      about: "Those that nobody has answered yet.",
      document: `query OpenInvitations($teamId: ID!) {
  teamInvitations(teamId: $teamId, status: PENDING) {
    invitations {
      id
      email
      role
      expiresAt
      link
    }
  }
}
`,
      variables: (ids) => ({ teamId: teamIn(ids) }),
    },
    {
      title: "Send it again",
      about: "The same invitation in another mail, for another week.",
      document: `mutation SendAgain($input: RevokeInvitationInput!) {
  resendInvitation(input: $input) {
    email
    status
    expiresAt
  }
}
`,
      variables: (ids) => ({ input: { teamId: teamIn(ids), invitationId: invitationIn(ids) } }),
    },
    {
      title: "Look at an invitation",
      about: "What the link in the mail shows. Needs no key.",
      document: `query LookAtInvitation($token: String!) {
  invitation(token: $token) {
    teamName
    invitedBy
    status
  }
}
`,
      variables: () => ({ token: TOKEN }),
    },
    {
      title: "Accept an invitation",
      about: "With the key of the person who was invited.",
      document: `mutation AcceptInvitation($input: AnswerInvitationInput!) {
  acceptInvitation(input: $input) {
    status
  }
}
`,
      variables: () => ({ input: { token: TOKEN } }),
    },
    {
      title: "Revoke an invitation",
      about: "Its link stops working.",
      document: `mutation TakeBack($input: RevokeInvitationInput!) {
  revokeInvitation(input: $input) {
    status
  }
}
`,
      variables: (ids) => ({ input: { teamId: teamIn(ids), invitationId: invitationIn(ids) } }),
    },
  ],
};

const KEYS: Subject = {
  name: "Keys",
  examples: [
    {
      title: "My keys",
      about: "Newest first, without their secrets.",
      document: `query MyKeys($limit: Int!) {
  apiKeys(limit: $limit) {
    keys {
      id
      name
      prefix
      scopes
      expiresAt
      lastUsedAt
    }
  }
}
`,
      variables: () => ({ limit: 20 }),
    },
    {
      title: "Create a key",
      about: "For a program that only reads. Its secret is shown once.",
      document: `mutation MakeKey($input: CreateApiKeyInput!) {
  createApiKey(input: $input) {
    id
    key
    name
    scopes
  }
}
`,
      variables: () => ({ input: { name: "Dashboard", scopes: ["MEMORIES_READ", "TEAMS_READ"] } }),
    },
    {
      title: "Replace a key",
      about: "The old one keeps working for an hour.",
      document: `mutation ReplaceKey($input: RotateApiKeyInput!) {
  rotateApiKey(input: $input) {
    id
    key
    scopes
  }
}
`,
      variables: (ids) => ({ input: { id: newKeyIn(ids), graceSeconds: 3600 } }),
    },
    {
      title: "Revoke a key",
      about: "Works at once, also for keys that it created.",
      document: `mutation RevokeKey($input: RevokeApiKeyInput!) {
  revokeApiKey(input: $input) {
    id
    alsoRevoked
  }
}
`,
      variables: (ids) => ({ input: { id: newKeyIn(ids) } }),
    },
  ],
};

const BILLING: Subject = {
  name: "Billing",
  examples: [
    {
      title: "Buy the team's seats",
      about: "Returns the URL of a page to pay. For the owner.",
      document: `mutation BuySeats($input: CreateTeamCheckoutInput!) {
  createTeamCheckout(input: $input) {
    url
    sessionId
    expiresAt
  }
}
`,
      variables: () => ({ input: {} }),
    },
    {
      title: "Subscription",
      about: "What the team pays for, and until when.",
      document: `query Subscription {
  teamSubscription {
    plan
    status
    seats
    memberCount
    currentPeriodEnd
    cancelAtPeriodEnd
  }
}
`,
    },
    {
      title: "Buy more seats",
      about: "After the first ones are paid.",
      document: `mutation MoreSeats($input: UpgradeTeamInput!) {
  upgradeTeam(input: $input) {
    seats
    pendingUpdate {
      seats
    }
  }
}
`,
      variables: () => ({ input: { maxMembers: 10 } }),
    },
    {
      title: "Cancel",
      about: "Ends the subscription at the end of its period.",
      document: `mutation CancelSubscription {
  cancelTeamSubscription {
    status
    cancelAtPeriodEnd
    endsAt
  }
}
`,
    },
    {
      title: "Take the cancellation back",
      about: "Before the period ends: the subscription is renewed again.",
      document: `mutation ResumeSubscription {
  resumeTeamSubscription {
    status
    cancelAtPeriodEnd
    currentPeriodEnd
  }
}
`,
    },
  ],
};

export const TEAM_SUBJECTS: readonly Subject[] = [TEAM, INVITATIONS, KEYS, BILLING];
