import "reflect-metadata";
/** A module of the built service with its source's types: the benchmark measures what runs in production. */
export async function built<Module>(path: string): Promise<Module> {
  return (await import(new URL(`../${path}`, import.meta.url).href)) as Module;
}
