import { expect, it } from "vitest";
import { forgetRecords } from "../../src/features/oauth/forget-statement.js";
import { readConfig } from "../../src/config.js";
import { ask } from "../support/http.js";
import { createWorld } from "../support/world.js";
import { aTeam, anInvitee } from "../support/teams.js";

const DAYS = { RETENTION_KEYS_DAYS: "10", RETENTION_INVITATIONS_DAYS: "20", RETENTION_AUDIT_DAYS: "30" };

it("deletes keys, codes, results, invitations, counts, audit entries and OAuth records after their retention time", async () => {
  await using world = await createWorld();
  const staff = await aTeam(world);
  const { pool, models } = world.database;
  await anInvitee(world, staff);
  await anInvitee(world, staff);
  const { userId } = staff.owner.caller;
  const kept = async () => ({
    keys: (await models.apiKey.findMany({ where: { userId } })).map(({ name }) => name).sort(),
    invitations: await models.invitation.count(),
    tokens: await models.invitationToken.count(),
    allowances: await models.invitationAllowance.count(),
    audit: (await models.auditEntry.findMany({ where: { action: { startsWith: "test " } } })).map(
      ({ action }) => action,
    ),
    oauth: (await models.oAuthRecord.findMany()).map(({ kind }) => kind),
    codes: (await models.signUpCode.findMany()).map(({ email }) => email),
    results: (await models.idempotentResult.findMany()).map(({ part }) => part),
  });
  await pool.query(
    `INSERT INTO oauth_record (kind, hash, payload, expires_at)
     VALUES ('expired', sha256('1'), '{}', now()), ('lives', sha256('2'), '{}', now() + interval '1 hour')`,
  );
  await pool.query(
    `INSERT INTO sign_up_code (mail_id, email, hash, long_hash, created_at, expires_at)
     VALUES (gen_random_uuid(), 'expired', sha256('1'), sha256('2'), now() - interval '15 minutes', now()),
       (gen_random_uuid(), 'lives', sha256('1'), sha256('2'), now() - interval '14 minutes', now() + interval '1 minute')`,
  );
  await pool.query(
    `INSERT INTO idempotent_result (user_id, key_hash, part, fingerprint, result, created_at)
     SELECT $1, '', hours::text, '', '', now() - make_interval(hours => hours) FROM unnest('{47,48}'::int[]) hours`,
    [userId],
  );
  await pool.query(
    `INSERT INTO api_key (id, user_id, name, prefix, hash, scopes, created_at, revoked_at, expires_at)
     SELECT gen_random_uuid(), $1, name, '', sha256(name::bytea), '{}', now() - interval '1 year', revoked, expires
     FROM (VALUES ('revoked long ago', now() - interval '10 days', NULL), ('revoked lately', now() - interval '9 days', NULL),
       ('expired long ago', NULL, now() - interval '10 days'), ('expired lately', NULL, now() - interval '9 days'),
       ('both', now(), now() - interval '10 days'), ('lives', NULL, now() + interval '1 day')) k (name, revoked, expires)`,
    [userId],
  );
  await pool.query(
    `UPDATE invitation SET created_at = now() - interval '60 days', expires_at = now() - interval '1 day' *
       CASE WHEN id = (SELECT min(id::text)::uuid FROM invitation) THEN 20 ELSE 19 END`,
  );
  await pool.query(
    `UPDATE invitation_allowance SET last_sent_at = now() - interval '1 day' WHERE cardinality(sent_at) = 1
       AND subject = (SELECT min(subject::text)::bytea FROM invitation_allowance WHERE cardinality(sent_at) = 1)`,
  );
  const entry = { actorId: userId, door: "rest" };
  await models.auditEntry.createMany({
    data: [
      { ...entry, id: world.services.newId(), action: "test old", createdAt: daysAgo(30) },
      { ...entry, id: world.services.newId(), action: "test young", createdAt: daysAgo(29) },
    ],
  });
  const before = await kept();

  await world.serve({ ...DAYS, RETENTION_RESULTS_HOURS: "48" });

  expect(before).toMatchObject({ invitations: 2, allowances: 3, audit: ["test old", "test young"] });
  await expect.poll(kept).toEqual({
    keys: ["First key", "expired lately", "lives", "revoked lately"],
    invitations: 1,
    tokens: 1,
    allowances: 2,
    audit: ["test young"],
    oauth: ["lives"],
    codes: ["lives"],
    results: ["47"],
  });
  expect(world.bugs).toEqual([]);
});

it("deletes in batches, and continues while there is more", async () => {
  await using world = await createWorld();
  await world.database.pool.query(
    `INSERT INTO audit_entry (id, door, action, created_at)
     SELECT gen_random_uuid(), 'rest', 'test', now() - interval '800 days' FROM generate_series(1, 2500)`,
  );

  await world.serve();

  await expect.poll(() => world.database.models.auditEntry.count()).toBe(0);
});

it("deletes what no other transaction holds, and does not wait for the rest", async () => {
  await using world = await createWorld();
  const { pool } = world.database;
  await pool.query(
    "INSERT INTO oauth_record (kind, hash, payload, expires_at) SELECT kind, sha256('1'), '{}', now() FROM unnest('{a,b}'::text[]) kind",
  );
  const other = await pool.connect();
  await other.query("BEGIN; SELECT FROM oauth_record WHERE kind = 'a' FOR UPDATE");

  expect(await world.database.run(forgetRecords, { keptHours: 0 })).toEqual([{ count: 1 }]);
  await other.query("COMMIT");
  other.release();
  expect(await world.database.models.oAuthRecord.findMany()).toMatchObject([{ kind: "a" }]);
});

it("keeps a first result for the configured time, and no longer", async () => {
  await using world = await createWorld();
  const { url } = await world.serve({ RETENTION_RESULTS_HOURS: "48" });
  const ann = await world.user();
  const { idempotentResult, team } = world.database.models;
  const found = async (name: string) => {
    const headers = { "idempotency-key": "k" };
    return (await ask(`${url}/teams`, { key: ann.key, headers, body: { name, max_members: 5 } })).status;
  };
  const age = (hours: number) =>
    idempotentResult.updateMany({ data: { createdAt: new Date(Date.now() - hours * 3_600_000) } });

  const first = await found("Team");
  await age(47);
  const statuses = [first, await found("Team"), await found("Other")];
  await age(49);
  await team.deleteMany();
  statuses.push(await found("Other"));

  expect(statuses).toEqual([201, 201, 409, 201]);
});

it("reads the retention times from the environment, within limits", () => {
  const days = { keysDays: 90, invitationsDays: 90, auditDays: 730, mailsDays: 7 };
  expect(readConfig({}).retention).toEqual({ resultsHours: 24, ...days });
  expect(() => readConfig({ RETENTION_RESULTS_HOURS: "23" })).toThrow("RETENTION_RESULTS_HOURS must be a whole number");
  for (const name of [...Object.keys(DAYS), "RETENTION_MAILS_DAYS"]) {
    for (const days of ["1", "36500"]) expect(() => readConfig({ [name]: days })).not.toThrow();
    for (const days of ["0", "36501", "-1", "1.5", "x"]) {
      expect(() => readConfig({ [name]: days })).toThrow(`${name} must be a whole number from 1 to 36500`);
    }
  }
});

const daysAgo = (days: number): Date => new Date(Date.now() - days * 86_400_000);
