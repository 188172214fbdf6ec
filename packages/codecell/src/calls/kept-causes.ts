/**
 * Runs on the host. KeptCauses keeps what the host's own code threw in a run, for whoever asks later.
 *
 * - What a tool threw may have all of its input in it. Nobody can tell how much, so the input counts. The bound is on the
 *   inputs of all calls whose causes are kept.
 */

import { KeptNewest } from "./kept-newest.ts";

/** What a cause counts for in addition to its call's input: errors of clients may hold a whole response. */
const CAUSE_LENGTH = 512;

export class KeptCauses<Key> extends KeptNewest<Key, unknown> {
  /** Returns the keys whose causes are no longer kept. */
  override add(key: Key, cause: unknown, inputLength: number): readonly Key[] {
    return super.add(key, cause, CAUSE_LENGTH + inputLength);
  }
}
