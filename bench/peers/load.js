/** Imports a peer from the folder in which it is installed: a bare specifier resolves from the importing module. */
export const load = (specifier) => import(specifier);
