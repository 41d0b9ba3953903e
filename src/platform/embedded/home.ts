import { join } from "node:path";

/** PostgreSQL's programs, and the major version that they are: a cluster of another one they cannot read. */
export interface Binaries {
  readonly folder: string;
  readonly major: string;
}

/** Which rights PostgreSQL's programs run with: a command that sets them, or the ids of another user, or ours. */
export interface Rights {
  readonly through: readonly string[];
  readonly uid?: number;
  readonly gid?: number;
}

/** The folder `<dataDir>/postgres`: it holds the cluster and its passwords, so that one rename creates them all. */
export interface Home {
  readonly folder: string;
  readonly binaries: Binaries;
  readonly rights: Rights;
}

/** The role of the service and its database. */
export const SERVICE = "memory_graph";
/** The superuser, for making the service's role and database. Nothing of the service connects as it. */
export const ADMINISTRATOR = "memory_graph_admin";

/** The files of the folder. */
export const CLUSTER = "cluster";
export const PASSWORD = "password";
export const ADMINISTRATOR_PASSWORD = "admin-password";

export const clusterOf = (folder: string): string => join(folder, CLUSTER);
/** Beside the folder, so that it is still there when the cluster could not be created. */
export const logOf = (folder: string): string => join(folder, "..", "postgres.log");

/** The code of a system error or of PostgreSQL. */
export function codeOf(error: unknown): unknown {
  return error instanceof Error && "code" in error ? error.code : undefined;
}

/** Turns the named codes into success; every other error goes on. */
export function unlessCode(...codes: string[]): (error: unknown) => void {
  return (error) => {
    if (!codes.some((code) => code === codeOf(error))) throw error;
  };
}
