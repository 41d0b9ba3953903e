import { type Change, tellChanges } from "../../operation/audit.js";
import { snakeCase } from "../../operation/names.js";
import { type MissingFields, pickGiven, pickOrNull } from "../../operation/input-fields.js";
import { Prisma, type Team } from "../../platform/prisma/client.js";

/** The columns of a team that its owner does not set. */
const NOT_SETTINGS = {
  id: true,
  ownerId: true,
  memberCount: true,
  createdAt: true,
} as const satisfies Partial<Record<keyof Team, true>>;

/** The columns of a team that its owner sets. The model `Team` declares them. */
export type TeamSettings = Omit<Team, keyof typeof NOT_SETTINGS>;

export const TEAM_SETTINGS: readonly (keyof TeamSettings)[] = Object.values(Prisma.TeamScalarFieldEnum).filter(
  (name): name is keyof TeamSettings => !(name in NOT_SETTINGS),
);

export const settingsOf = <Input extends Partial<TeamSettings>>(input: Input & MissingFields<TeamSettings, Input>) =>
  pickOrNull<TeamSettings>(TEAM_SETTINGS, input);

export const changedSettingsOf = <Input extends Partial<TeamSettings>>(
  input: Input & MissingFields<TeamSettings, Input>,
) => pickGiven<TeamSettings>(TEAM_SETTINGS, input);

/** The changed settings with their old and new values, for the audit. */
export const tellSettings = (was: TeamSettings, is: TeamSettings): string | undefined =>
  tellChanges(TEAM_SETTINGS.map((name): Change => [snakeCase(name), quoteText(was[name]), quoteText(is[name])]));

const quoteText = (value: string | number | null): string | number | null =>
  typeof value === "string" ? JSON.stringify(value) : value;
