/**
 * The environment for a process of a test: ours without the services that the tests were given. A test passes on a
 * database of its own. A shared Redis would share its budgets with everything that used it within the last hour.
 */
export function environmentForProcess(): NodeJS.ProcessEnv {
  const { DATABASE_URL: _database, REDIS_URL: _redis, ...rest } = process.env;
  return rest;
}
