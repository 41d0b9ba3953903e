import { type StripeWorld, createStripeWorld } from "./billing.js";
import { type Doors, serveDoors } from "./doors.js";
import { type FailingStatements, failStatements } from "./failing-statements.js";

/** The service at all its doors, whose statements can fail. */
export interface FailingDoors extends AsyncDisposable {
  readonly world: StripeWorld;
  readonly way: FailingStatements;
  readonly doors: Doors;
  /** The unhandled rejections: each would end the process. */
  readonly lost: unknown[];
}

/** `meanwhile` is called before a statement that is late. */
export async function startFailingDoors(meanwhile?: () => Promise<void>): Promise<FailingDoors> {
  const world = await createStripeWorld({ billing: { freeSeats: 50 } });
  const disconnect = (): void => doors.disconnect();
  const way = await failStatements(world.databaseUrl, { disconnect, ...(meanwhile && { meanwhile }) });
  const doors = await serveDoors(world, way.url);
  const lost: unknown[] = [];
  const noteLost = (reason: unknown) => void lost.push(reason);
  process.on("unhandledRejection", noteLost);
  return {
    world,
    way,
    doors,
    lost,
    async [Symbol.asyncDispose]() {
      process.off("unhandledRejection", noteLost);
      for (const part of [doors, way, world]) await part[Symbol.asyncDispose]();
    },
  };
}
