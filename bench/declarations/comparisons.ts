/**
 * Which printers are compared with each other, and on how many tools.
 *
 * Equals are compared: a printer without descriptions of fields is compared with Codecell without them.
 */

import type { Case, Metric } from "../workloads/workload.ts";
import { DESCRIBE_FIELDS, DESCRIBE_LESS, DESCRIBE_TOOLS, type Printer } from "./printers.ts";

export interface Comparison extends Case {
  readonly printers: readonly Printer[];
}

const METRICS: readonly [Metric, ...Metric[]] = [
  { key: "tokens", label: "o200k tokens", better: "lower", unit: "tokens" },
  { key: "ms", label: "printed in", better: "lower", unit: "ms" },
];

export const DECLARATIONS = {
  name: "declarations",
  title: "Tokens of the same real tools, as a model is shown them",
  metrics: METRICS,
};

/** The number of tools, from the first; the last number is all of them. */
const SIZES = [500, 742];

export const COMPARISONS: readonly Comparison[] = SIZES.flatMap((size) => [
  { label: `${size} tools`, size, printers: DESCRIBE_FIELDS },
  { label: `${size} tools, fields not described`, size, printers: DESCRIBE_TOOLS },
  { label: `${size} tools, less of them`, size, printers: DESCRIBE_LESS },
]);
