/**
 * Whether the guest can be compared with this Node.js: with 24 and newer. Node 22 has flaws in URL and TextDecoder that the
 * guest does not have, prints some values otherwise, and lacks `Error.isError`, which the guest's code expects of its
 * engine. That engine, and so the guest, is the same on all of them.
 */
export const isReference: boolean = Number(process.versions.node.split(".")[0]) >= 24;
