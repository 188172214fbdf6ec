/** Public API of codecell/declare. Named exports only. Runs anywhere. */
export type { Direction } from "../contract/standard-schema.ts";
export type { Docs } from "./comment.ts";
export type { AsJson, GuestApi } from "./guest-api.ts";
export type { DeclareOptions } from "./options.ts";
export { renderDeclarations, renderSignature } from "./render-declarations.ts";
export { renderType } from "./render-type.ts";
export type { RenderTypeOptions } from "./render-type.ts";
export { inputSchemaOf, outputSchemaOf, toJsonSchema } from "./tool-schemas.ts";
