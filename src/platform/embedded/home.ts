import { join } from "node:path";

/** PostgreSQL's programs and their major version. They cannot read a cluster of another major version. */
export interface Binaries {
  readonly folder: string;
  readonly major: string;
}

/** The rights of PostgreSQL's programs: set by a command, by the ids of another user, or the same as ours. */
export interface Rights {
  readonly through: readonly string[];
  readonly uid?: number;
  readonly gid?: number;
}

/** The folder `<dataDir>/postgres`. It contains the cluster and its passwords, so that one rename creates them all. */
export interface Home {
  readonly folder: string;
  readonly binaries: Binaries;
  readonly rights: Rights;
}

/** The role of the service and its database. */
export const SERVICE = "memory_graph";
/** The superuser, which creates the service's role and database. The service itself never connects as it. */
export const ADMINISTRATOR = "memory_graph_admin";

/** The files of the folder. */
export const CLUSTER = "cluster";
export const PASSWORD = "password";
export const ADMINISTRATOR_PASSWORD = "admin-password";

export const clusterOf = (folder: string): string => join(folder, CLUSTER);
/** Outside the folder, so that it remains when the cluster could not be created. */
export const logOf = (folder: string): string => join(folder, "..", "postgres.log");
