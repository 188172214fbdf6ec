/**
 * Templates of HTTP actions: texts with `{name}` where an input goes. Runs on the host.
 *
 * - A template that is one placeholder takes the input as it is: a number stays a number, a list stays a list.
 * - An input that was not given leaves out what it stands for.
 */
import type { Json } from "codecell";
import { ownOf, toText } from "../web/text.ts";

const PLACEHOLDER = /\{([A-Za-z_$][\w$-]*)\}/gu;
const WHOLE = /^\{([A-Za-z_$][\w$-]*)\}$/u;

export type Input = Readonly<Record<string, unknown>>;

export function placeholdersOf(template: Json): readonly string[] {
  if (typeof template === "string") return [...template.matchAll(PLACEHOLDER)].map(([, name = ""]) => name);
  if (typeof template !== "object" || template === null) return [];
  return Object.values(template as Readonly<Record<string, Json>>).flatMap(placeholdersOf);
}

/** Undefined if an input that the template needs was not given. */
export function fillText(template: string, input: Input): unknown {
  const whole = WHOLE.exec(template)?.[1];
  if (whole !== undefined) return ownOf(input, whole);
  if (placeholdersOf(template).some((name) => ownOf(input, name) === undefined)) return undefined;
  return template.replaceAll(PLACEHOLDER, (_, name: string) => toText(name, ownOf(input, name)));
}

/** Fills each text of a JSON template, and leaves out what an absent input stands for. */
export function fillJson(template: Json, input: Input): unknown {
  if (typeof template === "string") return fillText(template, input);
  if (typeof template !== "object" || template === null) return template;
  if (Array.isArray(template)) {
    return template.map((part: Json) => fillJson(part, input)).filter((part) => part !== undefined);
  }
  const filled = Object.entries(template).map(([key, part]) => [key, fillJson(part, input)] as const);
  return Object.fromEntries(filled.filter(([, part]) => part !== undefined));
}
