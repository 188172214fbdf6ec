/**
 * Imports a peer from the folder it is installed in: a bare specifier resolves from the module that imports it.
 */
export const load = (specifier) => import(specifier);
