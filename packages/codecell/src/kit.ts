/** What the packages beside this one share. Unstable, and not for users. Named exports only. */
export { CallRefusal, withCallDetails } from "./calls/call-failure.ts";
export { closestNames } from "./calls/closest-names.ts";
export { VALIDATE, withOwnMiddleware } from "./calls/middleware.ts";
export { toLateSchema } from "./calls/schema.ts";
export { fromToolId, toToolId } from "./catalog/tool-id.ts";
export { toConvenienceName } from "./catalog/convenience-names.ts";
export { createPolicy, type ToolRule } from "./catalog/policy.ts";
export { assertNames, type OptionNames } from "./contract/assert-names.ts";
export { FEATURE_GLOBALS } from "./contract/features.ts";
export { declareHandles, resultTypeOf } from "./contract/handle-setting.ts";
export { withLateTools } from "./contract/late-tools.ts";
