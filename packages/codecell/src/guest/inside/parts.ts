/**
 * Parts: loads the parts of the prelude, which are bundles of their own, when the program first needs one. Runs inside
 * the guest.
 *
 * - A cell that needs no part holds nothing of it.
 * - A part is made of functions that the prelude captured before the program ran. It sees nothing that the program changed.
 * - A part belongs to its cell like all of the guest's memory: it is charged to the cell's limit, parked and restored.
 * - If a part cannot be made because memory or stack ran out, nothing is kept, and the next use tries again.
 */
import { HOST, PART_NAMES, type PartName } from "../abi.ts";
import type { HostFunction } from "./core.ts";
import { handOut } from "./handed-out.ts";
import type { BodyPart } from "./parts/body/main.ts";
import type { BufferPart } from "./parts/buffer/main.ts";
import type { StreamsPart } from "./parts/streams/main.ts";
import { record } from "./primordials.ts";

interface Parts {
  readonly body: BodyPart;
  readonly streams: StreamsPart;
  readonly buffer: BufferPart;
}

type MakePart = (handed: readonly unknown[]) => unknown;

const indices = record<number>();
for (const [index, name] of PART_NAMES.entries()) indices[name] = index;

const loaded = record<unknown>();
let host: HostFunction;

/** The part, loaded if the program had no use for it so far. */
export function part<Name extends PartName>(name: Name): Parts[Name] {
  const made = (loaded[name] ??= (host(HOST.part, indices[name] as number) as MakePart)(handOut()));
  return made as Parts[Name];
}

/** The part if it was loaded. Before that nothing that the part makes can exist. */
export function loadedPart<Name extends PartName>(name: Name): Parts[Name] | undefined {
  return loaded[name] as Parts[Name] | undefined;
}

export function connectParts(given: HostFunction): void {
  host = given;
}
