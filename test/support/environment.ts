/**
 * The environment for a process of a test: ours, without the services that the tests were given. A database of their
 * own is passed on by the test; a Redis would share budgets with all that ran on it within the last hour.
 */
export function environmentForProcess(): NodeJS.ProcessEnv {
  const { DATABASE_URL: _database, REDIS_URL: _redis, ...rest } = process.env;
  return rest;
}
