/**
 * ObservedOutputs: learns what a tool's outputs look like, for tools without an output schema. Runs anywhere.
 *
 * - Learns from each outcome. A `ShapeMemory`, if given, keeps the shapes, so that a restart loses nothing.
 * - Holds shapes only, no values. A shape that the memory returns is checked and bounded like any outside data.
 * - Learning never disturbs a call: if the memory fails, everything works as without a memory.
 */
import type { ShapeMemory } from "../contract/shape-memory.ts";
import type { Json } from "../contract/value.ts";
import { isCount, isRecord } from "../value/shape.ts";
import { utf8Bytes } from "../value/json-text.ts";
import {
  fitShape,
  isCut,
  isShape,
  type JsonShape,
  mergeShapes,
  renderShape,
  shapeOf,
} from "./observed-shape.ts";

/** What a tool's description shows about its outputs. */
export interface ObservedOutput {
  readonly version: 1;
  readonly source: "observed";
  /** The time of the last sample, in milliseconds since the epoch. */
  readonly observedAt: number;
  readonly sampleCount: number;
  readonly typeScript: string;
  readonly jsonShape: JsonShape;
  /** Whether parts of the shape were left out. */
  readonly truncated: boolean;
}

interface Learnt {
  readonly observedAt: number;
  readonly sampleCount: number;
  readonly shape: JsonShape;
}

/** What this process holds about a tool. */
interface HeldShape extends Learnt {
  /** When the shape was last due to be saved. */
  readonly savedAt: number;
  /** Whether the shape has to be saved now. */
  readonly isDue: boolean;
}

/** The most tools whose shapes are held. Those unused for longest are left to the memory. */
const MOST_TOOLS = 10_000;
/** The most bytes of JSON kept for a tool. If a shape is larger, its deepest levels are dropped first. */
const MOST_BYTES = 16_384;
/** The part of these bytes for everything but the shape. */
const AROUND_BYTES = 100;
const LONGEST_TYPE = 4000;
/** After this many samples an unchanged shape is saved less and less often. */
const EAGER_SAMPLES = 8;
/** A shape is saved at least this often while its tool is used, because a memory may forget what is weeks old. */
const REFRESH_MS = 24 * 60 * 60 * 1000;
/** A memory that answers later counts as absent: nobody waits longer for it. */
const RECALL_MS = 2000;

export class ObservedOutputs {
  readonly #memory: ShapeMemory | undefined;
  /** Least recently used first. */
  readonly #learnt = new Map<string, Promise<HeldShape | undefined>>();

  constructor(memory?: ShapeMemory) {
    this.#memory = memory;
  }

  /** Undefined before the first outcome. The key identifies the tool and everything that its outputs depend on. */
  async of(key: string): Promise<ObservedOutput | undefined> {
    const learnt = await this.#known(key);
    if (learnt === undefined) return undefined;
    const { observedAt, sampleCount, shape } = learnt;
    const shown = fitShape(shape, (one) => renderShape(one).length <= LONGEST_TYPE);
    return {
      version: 1,
      source: "observed",
      observedAt,
      sampleCount,
      typeScript: renderShape(shown),
      jsonShape: shape,
      truncated: isCut(shown),
    };
  }

  /** Learns from one outcome. */
  async observe(key: string, output: Json): Promise<void> {
    const sample = bounded(shapeOf(output));
    const before = this.#known(key);
    const after = before.then((known) => learn(known, sample, Date.now()));
    this.#hold(key, after);
    const { observedAt, sampleCount, shape, isDue } = await after;
    if (!isDue) return;
    const learnt: Learnt = { observedAt, sampleCount, shape };
    try {
      await this.#memory?.remember(key, JSON.stringify(learnt));
    } catch {
      // A later sample saves the shape.
    }
  }

  #known(key: string): Promise<HeldShape | undefined> {
    const known = this.#learnt.get(key) ?? this.#recall(key);
    this.#hold(key, known);
    return known;
  }

  async #recall(key: string): Promise<HeldShape | undefined> {
    if (this.#memory === undefined) return undefined;
    const { promise: late, resolve } = Promise.withResolvers<undefined>();
    const timer = setTimeout(resolve, RECALL_MS, undefined);
    try {
      const text = await Promise.race([this.#memory.recall(key), late]);
      return text === undefined || text.length > MOST_BYTES ? undefined : parseLearnt(JSON.parse(text));
    } catch {
      return undefined;
    } finally {
      clearTimeout(timer);
    }
  }

  #hold(key: string, learnt: Promise<HeldShape | undefined>): void {
    this.#learnt.delete(key);
    this.#learnt.set(key, learnt);
    if (this.#learnt.size <= MOST_TOOLS) return;
    const [oldest = ""] = this.#learnt.keys();
    this.#learnt.delete(oldest);
  }
}

function learn(known: HeldShape | undefined, sample: JsonShape, now: number): HeldShape {
  if (known === undefined)
    return { observedAt: now, sampleCount: 1, shape: sample, savedAt: now, isDue: true };
  const shape = bounded(mergeShapes(known.shape, sample));
  const sampleCount = known.sampleCount + 1;
  const isNews = JSON.stringify(known.shape) !== JSON.stringify(shape);
  const isDue = isNews || isRound(sampleCount) || now - known.savedAt >= REFRESH_MS;
  return { observedAt: now, sampleCount, shape, savedAt: isDue ? now : known.savedAt, isDue };
}

function bounded(shape: JsonShape): JsonShape {
  return fitShape(shape, (one) => utf8Bytes(JSON.stringify(one)) <= MOST_BYTES - AROUND_BYTES);
}

function isRound(count: number): boolean {
  return count <= EAGER_SAMPLES || (count & (count - 1)) === 0;
}

function parseLearnt(value: unknown): HeldShape | undefined {
  if (!isRecord(value)) return undefined;
  const { observedAt, sampleCount, shape } = value;
  return isCount(observedAt) && isCount(sampleCount) && isShape(shape)
    ? { observedAt, sampleCount, shape, savedAt: observedAt, isDue: false }
    : undefined;
}
