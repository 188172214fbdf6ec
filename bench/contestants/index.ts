/**
 * The written list of contestants, in the order of the tables.
 */

import {
  createAiSdkCodeMode,
  createCodecellAi,
  createExperimentalCodeMode,
  createExperimentalCodeModeWide,
} from "./ai-sdk-code-mode.ts";
import { createAsyncFunction } from "./async-function.ts";
import { createCodecell, createCodecellJavaScript } from "./codecell.ts";
import type { Contestant } from "./contestant.ts";
import { createIsolatedVm } from "./isolated-vm.ts";
import { createNodeVm } from "./node-vm.ts";
import { createQueued } from "./queued.ts";
import { createRun } from "./run.ts";
import { createTanStackIsolatedVm, createTanStackQuickJs } from "./tanstack.ts";

export const SELF = "codecell";

export function createContestants(): readonly Contestant[] {
  return [
    createCodecell(),
    createCodecellJavaScript(),
    createCodecellAi(),
    createRun(),
    createQueued(createRun()),
    createAiSdkCodeMode(),
    createExperimentalCodeMode(),
    createExperimentalCodeModeWide(),
    createQueued(createExperimentalCodeMode()),
    createTanStackIsolatedVm(),
    createTanStackQuickJs(),
    createIsolatedVm(),
    createNodeVm(),
    createAsyncFunction(),
  ];
}

export function createContestant(id: string): Contestant {
  const contestant = createContestants().find((each) => each.id === id);
  if (contestant === undefined) throw new RangeError(`Cannot find contestant "${id}": no such contestant`);
  return contestant;
}
