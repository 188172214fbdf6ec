// Everything exported here is public API: what a bundle needs from the worker. Named exports only.
export { loadWorkerText } from "./embedded.ts";
export { defaultWorkerUrl } from "./worker-script.ts";
