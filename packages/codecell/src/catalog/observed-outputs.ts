/**
 * ObservedOutputs: what is known of the outputs of tools that do not say it themselves.
 *
 * - Learnt from outcomes as they come; kept by whoever is given to remember it, so that a restart loses nothing.
 * - Holds shapes only. What comes back is checked and bounded like anything from outside.
 * - Learning never disturbs: a memory that fails is as good as none.
 */
import type { ShapeMemory } from "../contract/shape-memory.ts";
import type { Json } from "../contract/value.ts";
import { isCount, isRecord } from "../value/shape.ts";
import { isShape, type JsonShape, mergeShapes, renderShape, shapeOf } from "./observed-shape.ts";

/** What a describer shows of it. */
export interface ObservedOutput {
  readonly version: 1;
  readonly source: "observed";
  /** Milliseconds since the epoch, of the last sample. */
  readonly observedAt: number;
  readonly sampleCount: number;
  readonly typeScript: string;
  readonly jsonShape: JsonShape;
  /** Whether something of it was left out. */
  readonly truncated: boolean;
}

interface Learnt {
  readonly observedAt: number;
  readonly sampleCount: number;
  readonly shape: JsonShape;
}

/** Tools whose shapes are held at a time; those that were not used for longest are left to the memory. */
const MOST_TOOLS = 10_000;
/** UTF-16 units of a shape as JSON; a larger one is not kept. */
const LONGEST_TEXT = 16_384;
/** After so many samples a shape that stays the same is saved more and more rarely. */
const EAGER_SAMPLES = 8;

export class ObservedOutputs {
  readonly #memory: ShapeMemory | undefined;
  /** Least recently used first. */
  readonly #learnt = new Map<string, Promise<Learnt | undefined>>();

  constructor(memory?: ShapeMemory) {
    this.#memory = memory;
  }

  /** Undefined before the first outcome. The key names the tool and whatever its outputs depend on. */
  async of(key: string): Promise<ObservedOutput | undefined> {
    const learnt = await this.#known(key);
    if (learnt === undefined) return undefined;
    const { observedAt, sampleCount, shape } = learnt;
    const typeScript = renderShape(shape);
    return {
      version: 1,
      source: "observed",
      observedAt,
      sampleCount,
      typeScript,
      jsonShape: shape,
      truncated: isCut(shape),
    };
  }

  /** Learns from one outcome. */
  async observe(key: string, output: Json): Promise<void> {
    const sample = shapeOf(output);
    const before = this.#known(key);
    const after = before.then((known): Learnt => {
      const shape = known === undefined ? sample : mergeShapes(known.shape, sample);
      return { observedAt: Date.now(), sampleCount: (known?.sampleCount ?? 0) + 1, shape };
    });
    this.#hold(key, after);
    const [known, learnt] = await Promise.all([before, after]);
    const text = JSON.stringify(learnt);
    if (text.length > LONGEST_TEXT) return;
    const isNews = known === undefined || JSON.stringify(known.shape) !== JSON.stringify(learnt.shape);
    if (isNews || isRound(learnt.sampleCount)) await this.#memory?.remember(key, text).catch(() => {});
  }

  #known(key: string): Promise<Learnt | undefined> {
    const known = this.#learnt.get(key) ?? this.#recall(key);
    this.#hold(key, known);
    return known;
  }

  async #recall(key: string): Promise<Learnt | undefined> {
    try {
      const text = await this.#memory?.recall(key);
      return text === undefined || text.length > LONGEST_TEXT ? undefined : parseLearnt(JSON.parse(text));
    } catch {
      return undefined;
    }
  }

  #hold(key: string, learnt: Promise<Learnt | undefined>): void {
    this.#learnt.delete(key);
    this.#learnt.set(key, learnt);
    if (this.#learnt.size <= MOST_TOOLS) return;
    const [oldest = ""] = this.#learnt.keys();
    this.#learnt.delete(oldest);
  }
}

function isRound(count: number): boolean {
  return count <= EAGER_SAMPLES || (count & (count - 1)) === 0;
}

function parseLearnt(value: unknown): Learnt | undefined {
  if (!isRecord(value)) return undefined;
  const { observedAt, sampleCount, shape } = value;
  return isCount(observedAt) && isCount(sampleCount) && isShape(shape)
    ? { observedAt, sampleCount, shape }
    : undefined;
}

function isCut(shape: JsonShape): boolean {
  switch (shape.kind) {
    case "array":
      return shape.truncated === true || (shape.element !== undefined && isCut(shape.element));
    case "object":
      return shape.truncated === true || Object.values(shape.fields).some((field) => isCut(field.shape));
    case "union":
      return shape.variants.some(isCut);
    case "unknown":
      return true;
    case "null":
    case "boolean":
    case "number":
    case "string":
      return false;
    default:
      return shape satisfies never;
  }
}
