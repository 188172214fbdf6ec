/**
 * Handed out: what the prelude hands to its parts. The build replaces this file by the list of everything that files in
 * parts/ import from the prelude's files. Runs inside the guest.
 */
export declare function handOut(): readonly unknown[];
