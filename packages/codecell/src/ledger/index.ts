// Everything exported here is public API. Named exports only.
export { inspect } from "./inspect.ts";
export type { InspectedCall, InspectedDelivery, Inspection } from "./inspect.ts";
