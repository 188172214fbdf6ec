/** Runs on the host. Reads what programs pass to the methods of handles. A program may pass anything. */
import type { Completion } from "../contract/connector.ts";
import { ConnectorError } from "../contract/connector-error.ts";
import { isObject } from "../tools/values.ts";

const LONGEST_TEXT = 100_000;
const MOST_ARGUMENTS = 100;

export function refuseInput(connector: string, message: string): never {
  throw new ConnectorError(connector, "REQUEST_INVALID", message, { hasNoEffect: true });
}

export function parseText(connector: string, action: string, name: string, given: unknown): string {
  if (typeof given === "string" && given !== "" && given.length <= LONGEST_TEXT) return given;
  const problem =
    typeof given !== "string"
      ? `its ${name} is ${kindOf(given)}, give a text`
      : given === ""
        ? `its ${name} is empty, give one that a list gave`
        : `its ${name} has ${given.length} characters, ${LONGEST_TEXT} are the most`;
  return refuseInput(connector, `Cannot ${action} of "${connector}": ${problem}`);
}

/** An empty query would match everything: a list is asked for without one. */
export function parseQuery(connector: string, given: unknown, longest: number): string {
  const action = "search the lists";
  const query = parseText(connector, action, "query", given);
  if (query.trim() === "")
    return refuseInput(connector, `Cannot ${action} of "${connector}": the query is blank, give words`);
  if (query.length <= longest) return query;
  const problem = `the query has ${query.length} characters, ${longest} are the most: give a few words`;
  return refuseInput(connector, `Cannot ${action} of "${connector}": ${problem}`);
}

/** Arguments of prompts are texts. A program may give numbers and records, which are written as JSON. */
export function parsePromptArguments(connector: string, given: unknown): Readonly<Record<string, string>> {
  if (given === undefined || given === null) return {};
  if (!isObject(given) || Object.keys(given).length > MOST_ARGUMENTS)
    return refuseInput(
      connector,
      `Cannot get a prompt of "${connector}": give its arguments as { name: text }`,
    );
  const texts = Object.entries(given).flatMap(([name, value]) =>
    value === undefined || value === null
      ? []
      : [[name, typeof value === "string" ? value : JSON.stringify(value)] as const],
  );
  return Object.fromEntries(texts);
}

export function parseCompletion(connector: string, given: unknown): Completion {
  const fail = (): never =>
    refuseInput(
      connector,
      `Cannot complete an argument of "${connector}": give { ref: { type: "prompt", name } or { type: "resourceTemplate", uri }, argument: { name, value } }`,
    );
  if (!isObject(given)) return fail();
  const { ref, argument, context } = given;
  if (!isObject(argument) || typeof argument["name"] !== "string" || typeof argument["value"] !== "string")
    return fail();
  const { name, value } = argument as { readonly name: string; readonly value: string };
  const known = isObject(context) ? context["arguments"] : undefined;
  return {
    ref: parseRef(ref) ?? fail(),
    argument: { name, value },
    ...(known === undefined ? {} : { context: { arguments: parsePromptArguments(connector, known) } }),
  };
}

function parseRef(ref: unknown): Completion["ref"] | undefined {
  if (!isObject(ref)) return undefined;
  const { type, name, uri } = ref;
  if (type === "prompt" && typeof name === "string") return { type, name };
  if (type === "resourceTemplate" && typeof uri === "string") return { type, uri };
  return undefined;
}

function kindOf(value: unknown): string {
  if (value === undefined || value === null) return "missing";
  return Array.isArray(value) ? "a list" : typeof value === "object" ? "an object" : `a ${typeof value}`;
}
