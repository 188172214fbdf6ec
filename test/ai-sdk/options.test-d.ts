/** Types of the options: what the contract has is taken, what it has not is refused. */
import type {
  CodeModeError,
  CodeModeInterrupt,
  CodeModeNestedToolResultEvent,
  CodeModeOptions,
  CodeModeTool,
  CodeModeTrace,
  CodeModeUnwrappedResult,
} from "codecell/ai";
import { describe, expectTypeOf, test } from "vitest";

type Policy = NonNullable<CodeModeOptions["executionPolicy"]>;
type Fetch = Exclude<NonNullable<CodeModeOptions["fetchPolicy"]>, false>;
type Approval = NonNullable<CodeModeOptions["approval"]>;
type Lifecycle = NonNullable<CodeModeOptions["lifecycle"]>;
type Decision = "approved" | "denied" | { approved: boolean; reason?: string };

describe("the types of codecell/ai", () => {
  test("limits are numbers, all of them optional", () => {
    expectTypeOf<Record<keyof Policy, number>>().toEqualTypeOf<Required<Policy>>();
    expectTypeOf<{}>().toExtend<Policy>();
    expectTypeOf<{ timeoutMs: string }>().not.toExtend<Policy>();
  });

  test("fetch is off by false, or by leaving it out; a policy has the contract's parts", () => {
    expectTypeOf<false>().toExtend<CodeModeOptions["fetchPolicy"]>();
    expectTypeOf<true>().not.toExtend<CodeModeOptions["fetchPolicy"]>();
    expectTypeOf<{
      fetch: typeof globalThis.fetch;
      allowedOrigins: string[];
      allowedUrlPrefixes: string[];
      allowedMethods: string[];
      maxResponseBytes: number;
      allowRedirects: boolean;
      maxRedirects: number;
    }>().toExtend<Fetch>();
  });

  test("approval has two modes, and a callback that may take its time", () => {
    expectTypeOf<Approval["mode"]>().toEqualTypeOf<"callback" | "interrupt" | undefined>();
    type Callback = NonNullable<Approval["onApprovalRequired"]>;
    expectTypeOf<Parameters<Callback>[0]>().toEqualTypeOf<{
      toolName: string;
      input: unknown;
      toolCallId: string;
    }>();
    expectTypeOf<ReturnType<Callback>>().toEqualTypeOf<Decision | Promise<Decision>>();
  });

  test("hooks are told of events, and may be asynchronous", () => {
    expectTypeOf<Parameters<NonNullable<Lifecycle["onTrace"]>>>().toEqualTypeOf<[event: CodeModeTrace]>();
    expectTypeOf<ReturnType<NonNullable<Lifecycle["onTrace"]>>>().toEqualTypeOf<void | Promise<void>>();
    type Fulfilled = Extract<CodeModeNestedToolResultEvent, { status: "fulfilled" }>;
    expectTypeOf<Fulfilled["outputBytes"]>().toEqualTypeOf<number>();
    type Interrupted = Extract<CodeModeNestedToolResultEvent, { status: "interrupted" }>;
    expectTypeOf<Interrupted["interrupt"]>().toEqualTypeOf<CodeModeInterrupt>();
  });

  test("an execution is awaited as unknown, and can be iterated", () => {
    const executed = (made: CodeModeTool) => made.execute({ js: "" }, { toolCallId: "1", messages: [] });
    expectTypeOf<Awaited<ReturnType<typeof executed>>>().toEqualTypeOf<unknown>();
    expectTypeOf<ReturnType<typeof executed>>().toExtend<AsyncIterable<unknown> & Promise<unknown>>();
    expectTypeOf<CodeModeUnwrappedResult["status"]>().toEqualTypeOf<"completed" | "interrupted">();
    expectTypeOf<CodeModeError["code"]>().toEqualTypeOf<string>();
  });
});
