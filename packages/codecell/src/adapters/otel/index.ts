// codecell/otel. Everything exported here is public API. Named exports only.
export { type TracingOptions, withTracing } from "./traced-host.ts";
