import { callerOf } from "../../src/features/access/caller.js";
import type { World } from "./world.js";

/** Whether the key is valid at this moment. */
export async function opens({ database }: Pick<World, "database">, key: string): Promise<boolean> {
  return callerOf(`Bearer ${key}`, database).then(
    () => true,
    () => false,
  );
}
