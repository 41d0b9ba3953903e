import { type Change, tellChanges } from "../../operation/audit.js";
import { snakeCase } from "../../operation/names.js";
import { type Whole, changedOf, saidOf } from "../../operation/said.js";
import { Prisma, type Team } from "../../platform/prisma/client.js";

/** What is stored of a team beside what its owner sets. */
const AROUND = {
  id: true,
  ownerId: true,
  memberCount: true,
  createdAt: true,
} as const satisfies Partial<Record<keyof Team, true>>;

/** What the owner sets of a team; the model `Team` is where it is declared. */
export type TeamSettings = Omit<Team, keyof typeof AROUND>;

export const TEAM_SETTINGS: readonly (keyof TeamSettings)[] = Object.values(Prisma.TeamScalarFieldEnum).filter(
  (name): name is keyof TeamSettings => !(name in AROUND),
);

export const settingsOf = <Input extends Partial<TeamSettings>>(input: Input & Whole<TeamSettings, Input>) =>
  saidOf<TeamSettings>(TEAM_SETTINGS, input);

export const changedSettingsOf = <Input extends Partial<TeamSettings>>(input: Input & Whole<TeamSettings, Input>) =>
  changedOf<TeamSettings>(TEAM_SETTINGS, input);

/** What the audit tells of a change. */
export const tellSettings = (was: TeamSettings, is: TeamSettings): string | undefined =>
  tellChanges(TEAM_SETTINGS.map((name): Change => [snakeCase(name), quoteText(was[name]), quoteText(is[name])]));

const quoteText = (value: string | number | null): string | number | null =>
  typeof value === "string" ? JSON.stringify(value) : value;
