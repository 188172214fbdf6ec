/**
 * Whether the guest can be compared with this Node.js: with 24 and newer. Node 22 has flaws in URL and TextDecoder that
 * the guest does not have, prints some values differently, and lacks `Error.isError`, which the guest's code expects
 * from its engine. The guest's engine is the same on all versions, and so is the guest.
 */
export const isReference: boolean = Number(process.versions.node.split(".")[0]) >= 24;
