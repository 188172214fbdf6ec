/** Imports a peer from bench/peers. That folder is no workspace: its packages are found only from inside it. */

const LOADER = new URL("../peers/load.js", import.meta.url).href;

export async function importPeer<Module>(specifier: string): Promise<Module> {
  const loader: { load(specifier: string): Promise<Module> } = await import(LOADER);
  return loader.load(specifier);
}
