import { drawCode, tryCode } from "./access-moves.js";
import { type Model, type User, newestFirst } from "./model.js";
import { Unasked, defineMove, refuse } from "./move.js";

/** With fewer users, little is left to test. */
const PEOPLE_ENOUGH = 3;

export const updateAccount = defineMove<{ name?: string | null | undefined }>({
  weight: 1,
  input: (_model, _me, draw) => ({ name: draw.one(["Ann", null, undefined]) }),
  check({ name }) {
    if (name === undefined) refuse("bad_request");
  },
  expect: (_model, { user }, { name }) => ({
    output: { userId: user.id, email: user.email, name },
    audit: () => ({ teamId: null, subject: user.id, detail: null }),
    effect: () => void (user.name = name ?? null),
  }),
});

export const changeEmail = defineMove<{ email: string; code: string }>({
  weight: 1,
  input: drawCode,
  expect(model, { user }, { email, code }) {
    const useUp = tryCode(model, email, code);
    const other = model.userNamed(email);
    if (other && other !== user) refuse("conflict", "email_taken");
    const team = model.teamOf(user);
    const detail = email === user.email ? null : user.email;
    return {
      output: { userId: user.id, email },
      audit: () => ({ teamId: null, subject: user.id, detail }),
      async effect(_output, real) {
        await real.codesTo(email);
        useUp();
        user.email = email;
        user.verified = true;
        const needless = team && model.pendingOf(team).find((known) => known.email === email);
        if (needless) needless.settled = "revoked";
      },
    };
  },
});

export const deleteAccount = defineMove<{ email: string }>({
  weight: 1,
  input(model, { user }, draw) {
    if (model.users.length <= PEOPLE_ENOUGH) throw new Unasked();
    return { email: draw.once(2) ? user.email : "nobody@example.com" };
  },
  expect(model, { user }, { email }) {
    if (email !== user.email) refuse("bad_request");
    const team = model.teamOf(user);
    if (team?.members.get(user) === "owner") refuse("conflict", "owner_must_transfer");
    return {
      // Only a team's audit can record it: the user's own entries are deleted.
      ...(team ? { audit: () => ({ teamId: team.id, subject: user.id, detail: null }) } : {}),
      async effect(_output, real) {
        await real.codesTo(user.email);
        forgetUser(model, user);
      },
    };
  },
});

function forgetUser(model: Model, user: User): void {
  model.teamOf(user)?.members.delete(user);
  for (const memory of model.memoriesIn(user.personal)) model.forget(memory);
  for (const invitation of model.invitations) {
    if (invitation.by === user && model.statusOf(invitation) === "pending") invitation.settled = "revoked";
  }
  model.invitations = model.invitations.filter(({ email }) => email !== user.email);
  model.codes.delete(user.email);
  model.audit = model.audit
    .filter(({ actorId, teamId }) => actorId !== user.id || teamId !== null)
    .map((entry) => ({ ...entry, detail: withoutAddress(entry.detail, user.email) }));
  model.kept = model.kept.filter((kept) => kept.user !== user);
  model.users = model.users.filter((known) => known !== user);
  model.goneIds.push(user.id, ...user.keys.map(({ id }) => id));
}

const withoutAddress = (detail: string | null, email: string): string | null =>
  detail === email || detail?.startsWith(`${email},`) ? `a deleted address${detail.slice(email.length)}` : detail;

export const exportAccount = defineMove<{ limit: number }>({
  weight: 1,
  input: (_model, _me, draw) => ({ limit: draw.one([20, 3]) }),
  expect(model, { user }) {
    const team = model.teamOf(user);
    const keys = [...user.keys].sort(newestFirst).reverse();
    const memories = model.memoriesIn(user.personal).reverse();
    return {
      output: {
        profile: { userId: user.id, email: user.email },
        membership: team && { teamId: team.id, teamName: team.name, role: team.members.get(user) },
        keys: keys.map(({ id, name }) => ({ id, name })),
      },
      check(output) {
        const told = (output["memories"] as { id: string }[]).map(({ id }) => id).join();
        return told === memories.map(({ id }) => id).join() ? undefined : `it tells of other memories: ${told}`;
      },
    };
  },
});
