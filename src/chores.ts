import type { Config } from "./config.js";
import { accessChores } from "./features/access/index.js";
import { billingChores } from "./features/billing/index.js";
import { mailChores } from "./features/mail/index.js";
import { memoryChores } from "./features/memories/index.js";
import { oauthChores } from "./features/oauth/index.js";
import { teamChores } from "./features/teams/index.js";
import { type Services, servicesFor } from "./operation/context.js";
import { idempotencyChores } from "./operation/idempotency.js";
import type { Chore } from "./platform/chores.js";
import type { Mailer } from "./platform/mailer.js";

/** The background jobs. Every server runs them all; locks in the database decide which server does a piece of work. */
export function choresOf(config: Config, shared: Services, mailer: Mailer | undefined): Chore[] {
  const services = servicesFor(shared, "chores");
  const { retention } = config;
  return [
    ...idempotencyChores(services, retention),
    ...accessChores(services, retention),
    ...oauthChores(services),
    ...memoryChores(services, config.directDatabaseUrl ?? config.databaseUrl),
    ...billingChores(services),
    ...teamChores(services, retention),
    ...mailChores(services, retention, mailer),
  ];
}
