import "reflect-metadata";
/**
 * A module of the built service, typed by its source: what is measured is what runs in production, and not what a tool
 * for tests would make of the source.
 */
export async function built<Module>(path: string): Promise<Module> {
  return (await import(new URL(`../${path}`, import.meta.url).href)) as Module;
}
