// Everything exported here is public API: what whoever bundles needs of the worker. Named exports only.
export { loadWorkerText } from "./embedded.ts";
export { defaultWorkerUrl } from "./worker-script.ts";
