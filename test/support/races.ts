import { setTimeout } from "node:timers/promises";
import { roundsOf } from "./rounds.js";
import type { World } from "./world.js";

/** How many calls start at once, and how often: a race shows within a few rounds. */
export const CALLERS = 20;
export const ROUNDS = roundsOf(50);

/** Starts all calls before the first one ends. */
export const manyAtOnce = <Outcome>(attempt: (index: number) => Promise<Outcome>): Promise<Outcome[]> =>
  Promise.all(Array.from({ length: CALLERS }, (_, index) => attempt(index)));

/** Removes the invited members from a team and makes their invitations pending again, for the next round. */
export async function pendingAgain({ database }: World, teamId: string): Promise<void> {
  await database.pool.query(
    `DELETE FROM team_member m USING user_account u, invitation i
     WHERE u.id = m.user_id AND i.email = u.email AND i.team_id = $1 AND m.team_id = $1`,
    [teamId],
  );
  await database.pool.query("UPDATE invitation SET status = 'pending' WHERE team_id = $1", [teamId]);
}

/** Sets a team's seats without checks. */
export async function sized({ database }: World, teamId: string, maxMembers: number): Promise<void> {
  await database.models.team.update({ where: { id: teamId }, data: { maxMembers } });
}

/**
 * Counts PostgreSQL's deadlocks. PostgreSQL ends each one after a second and the work is retried, so only this counter
 * shows them; locks taken in one order cause none. Needs a world with a fresh database.
 */
export async function deadlocks({ database: { pool } }: World): Promise<number> {
  // A connection reports its counts when it ends, otherwise within a minute.
  const ending =
    "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() AND pid <> $1";
  const one = await pool.connect();
  const {
    rows: [self],
  } = await one.query<{ pid: number }>("SELECT pg_backend_pid() AS pid");
  while ((await one.query(ending, [self?.pid])).rowCount) await setTimeout(5);
  one.release();
  const { rows } = await pool.query<{ deadlocks: number }>(
    "SELECT deadlocks::int FROM pg_stat_database WHERE datname = current_database()",
  );
  return rows[0]?.deadlocks ?? 0;
}
