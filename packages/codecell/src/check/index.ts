// Everything exported here is public API. Named exports only.
export { createChecker } from "./checker.ts";
export type { Checker, CheckerOptions, CheckRequest, CheckResult } from "./checker.ts";
export type { ToolDeclaration, ToolDeclarations } from "./declare-tools.ts";
