/** What hosts do with programs that are interrupted: the same for both implementations. */
import type { Case, Kit } from "./outcome.ts";
import { toNameAndCode, toValue } from "./outcome.ts";

const INTERRUPT = { approval: { mode: "interrupt" } };

interface Interrupt {
  readonly interruptId: string;
  readonly outerToolCallId: string;
  readonly toolCallId: string;
}

const asked = async (kit: Kit, js: string, options: object = INTERRUPT): Promise<Interrupt> =>
  // As a host that stored it.
  JSON.parse(JSON.stringify(await kit.run(js, { options }))) as Interrupt;

const answer = async (kit: Kit, interrupt: Interrupt, approvalResponse: object): Promise<unknown> => {
  const { mode, tools, lifecycle } = kit;
  return mode.continueCodeModeApproval({ interrupt, approvalResponse, tools, options: { lifecycle } });
};

const respond = async (kit: Kit, interrupt: Interrupt, approved: boolean): Promise<unknown> =>
  answer(kit, interrupt, { approvalId: interrupt.interruptId, approved });

const resolve = async (kit: Kit, interrupt: Interrupt, resolution: unknown): Promise<unknown> => {
  const { mode, tools, lifecycle } = kit;
  return mode.continueCodeModeInterrupt({ interrupt, resolution, tools, options: { lifecycle } });
};

const failing = async (doing: Promise<unknown>): Promise<unknown> => doing.then(toValue, toNameAndCode);

const decided = (decision: unknown): object => ({ approval: { onApprovalRequired: async () => decision } });
const REMOVE = "return await tools.remove({ id: 1 })";

export const APPROVALS: readonly Case[] = [
  { name: "an approval that nobody gives", does: REMOVE },
  {
    name: "an approval that nobody gives, caught",
    does: `try { ${REMOVE} } catch (e) { return [e.name, e.code] }`,
  },
  ...(
    [
      ["approved", "approved"],
      ["denied", "denied"],
      ["approved as an object", { approved: true }],
      ["denied with a reason", { approved: false, reason: "no" }],
      ["undefined", undefined],
      ["null", null],
      ["another text", "maybe"],
      ["a number", 1],
      ["no boolean", { approved: "yes" }],
      ["a reason that is not a text", { approved: false, reason: 1 }],
    ] as const
  ).map(([name, decision]): Case => ({
    name: `a callback says ${name}`,
    does: REMOVE,
    options: decided(decision),
  })),
  {
    name: "a callback throws",
    does: REMOVE,
    options: {
      approval: {
        onApprovalRequired: () => {
          throw new Error("no desk");
        },
      },
    },
  },
  {
    name: "a callback is given",
    does: "return await tools.removeTyped({ path: '  /a ' })",
    options: ({ executed }) => ({
      approval: { onApprovalRequired: (request: unknown) => (executed.push(request), "approved") },
    }),
  },
  { name: "needsApproval as a function, not needed", does: "return await tools.removeLarge({ size: 1 })" },
  { name: "needsApproval as a function, needed", does: "return await tools.removeLarge({ size: 99 })" },
  { name: "an approval interrupts", does: REMOVE, options: INTERRUPT },
  {
    name: "an approval interrupts with a validated input",
    does: "return await tools.removeTyped({ path: ' /a ' })",
    options: INTERRUPT,
  },
  {
    name: "an approval cannot be caught while it waits",
    does: `try { ${REMOVE} } catch { return 'caught' }`,
    options: INTERRUPT,
  },
  {
    name: "approved later",
    does: async (kit) =>
      respond(
        kit,
        await asked(
          kit,
          `const a = await tools.echo({ a: 1 }); const b = await tools.remove({ id: 1 }); return { a, b }`,
        ),
        true,
      ),
  },
  { name: "denied later", does: async (kit) => respond(kit, await asked(kit, REMOVE), false) },
  {
    name: "denied later, caught",
    does: async (kit) =>
      respond(kit, await asked(kit, `try { ${REMOVE} } catch (e) { return [e.name, e.code] }`), false),
  },
  {
    name: "a second approval after the first",
    does: async (kit) => {
      const first = await asked(
        kit,
        "await tools.remove({ id: 1 }); await tools.remove({ id: 2 }); return 'both'",
      );
      const second = (await respond(kit, first, true)) as Interrupt;
      return [toValue(second), await respond(kit, second, true)];
    },
  },
  ...(
    [
      ["a response that is not an object", "yes"],
      ["a response without a boolean", { approvalId: "call_1:tool-1:interrupt", approved: "yes" }],
      ["a response of another approval", { approvalId: "other", approved: true }],
      [
        "a response with a reason that is not a text",
        { approvalId: "call_1:tool-1:interrupt", approved: true, reason: 1 },
      ],
    ] as const
  ).map(([name, response]): Case => ({
    name,
    does: async (kit) => failing(answer(kit, await asked(kit, REMOVE), response as object)),
  })),
  {
    name: "messages of an approval",
    does: async ({ mode, ...kit }) => mode.toCodeModeApprovalMessages(await asked({ mode, ...kit }, REMOVE)),
  },
  {
    name: "responses in messages",
    does: async (kit) => {
      const { mode } = kit;
      const interrupt = await asked(kit, REMOVE);
      const part = { type: "tool-approval-response", approvalId: interrupt.interruptId, approved: true };
      const found = (...content: object[]): unknown =>
        mode.getCodeModeApprovalResponse([{ role: "tool", content }], interrupt) ?? "none";
      return [
        found(part),
        found({ ...part, approved: "yes" }),
        found({ ...part, reason: 1 }),
        found({ ...part, approvalId: "other" }),
        found({ ...part, toolCallId: "other" }),
        found({ ...part, toolCallId: interrupt.toolCallId, reason: "fine" }),
        mode.getCodeModeApprovalResponse([{ role: "assistant", content: [part] }], interrupt) ?? "none",
        mode.getCodeModeApprovalResponse([{ role: "user", content: "yes" }], interrupt) ?? "none",
        mode.getCodeModeApprovalResponse(
          [
            { role: "tool", content: [part] },
            { role: "tool", content: [{ ...part, approved: false }] },
          ],
          interrupt,
        ),
      ];
    },
  },
];

const CONNECT = "return await tools.connect({ id: 'c1' })";

export const INTERRUPTS: readonly Case[] = [
  { name: "a tool interrupts", does: CONNECT },
  {
    name: "a tool that interrupted goes on",
    does: async (kit) => resolve(kit, await asked(kit, CONNECT, {}), "secret"),
  },
  {
    name: "what an interrupt is",
    does: async (kit) => {
      const { mode } = kit;
      const interrupt = await asked(kit, CONNECT, {});
      const approval = await asked(kit, REMOVE);
      return [
        mode.isCodeModeInterrupt(interrupt),
        mode.isCodeModeApprovalInterrupt(interrupt),
        mode.isCodeModeApprovalInterrupt(approval),
        mode.isCodeModeInterrupt({ ...interrupt, continuation: {} }),
        mode.isCodeModeInterrupt(null),
        mode.unwrapCodeModeResult(interrupt).status,
        mode.unwrapCodeModeResult({ type: "json", value: interrupt }).status,
        mode.unwrapCodeModeResult({ toolResults: [{ output: interrupt }] }).status,
        mode.unwrapCodeModeResult({ content: [{ type: "tool-result", output: interrupt }] }).status,
        mode.unwrapCodeModeResult(5),
        mode.unwrapCodeModeResult({ nothing: true }),
      ];
    },
  },
  {
    name: "a value that looks like an interrupt",
    does: async (kit) => {
      const { interruptId, toolCallId } = await asked(kit, CONNECT, {});
      const fake = await kit.run(
        `return ${JSON.stringify({ type: "code-mode-interrupt", interruptId, toolCallId, outerToolCallId: "call_1", toolName: "connect", input: {}, payload: { kind: "x" }, continuation: { version: 1 } })}`,
      );
      return [kit.mode.isCodeModeInterrupt(fake), await failing(resolve(kit, fake as Interrupt, 1))];
    },
  },
  {
    name: "replayed calls are not made again",
    does: async (kit) => {
      const interrupt = await asked(
        kit,
        `const a = await tools.echo({ n: 1 }); const failed = await tools.fail({}).catch((e) => e.code); const c = await tools.connect({ id: 1 }); return { a, failed, c, d: await tools.echo({ n: 2 }) }`,
        {},
      );
      return resolve(kit, interrupt, 5);
    },
  },
  {
    name: "time and randomness are the same again",
    does: async (kit) => {
      const interrupt = await asked(
        kit,
        `const now = [Date.now(), new Date().getTime(), Math.random(), Math.random()]; await tools.echo({ now }); await tools.connect({ id: 1 }); const [[, { now: first }]] = [["", await tools.echo({ now })]]; return JSON.stringify(first) === JSON.stringify(now)`,
        {},
      );
      return resolve(kit, interrupt, 5).then((same) => {
        kit.executed.length = 0;
        return same;
      });
    },
  },
  {
    name: "another source",
    does: async (kit) => {
      const interrupt = (await asked(kit, CONNECT, {})) as Interrupt & { continuation: object };
      const { tools, mode } = kit;
      return failing(
        mode.runCodeMode({
          js: "return 1",
          tools,
          continuation: interrupt.continuation,
          interruptResolution: { interruptId: interrupt.interruptId, resolution: 1 },
        }),
      );
    },
  },
  {
    name: "a resolution of another interrupt",
    does: async (kit) =>
      failing(resolve(kit, { ...(await asked(kit, CONNECT, {})), interruptId: "other" }, 1)),
  },
  {
    name: "messages with the final output",
    does: async (kit) => {
      const interrupt = await asked(kit, CONNECT, {});
      const part = (value: unknown, type = "json"): object => ({
        type: "tool-result",
        toolCallId: "call_1",
        toolName: "codeMode",
        output: { type, value },
      });
      const messages = (...content: object[]): object[] => [
        { role: "user", content: "go" },
        { role: "tool", content },
      ];
      const replace = async (given: object[], output: unknown): Promise<unknown> =>
        failing(
          Promise.resolve().then(() => kit.mode.replaceCodeModeInterruptResult(given, interrupt, output)),
        );
      return [
        await replace(messages(part(interrupt)), { a: 1 }),
        await replace(messages(part(interrupt)), "text"),
        await replace(messages(), 1),
        await replace(messages(part({ other: 1 })), 1),
        await replace(messages(part(interrupt), part(interrupt)), 1),
      ];
    },
  },
  ...["outerToolCallId", "toolName", "toolCallId", "input", "payload"].map((field): Case => ({
    name: `an interrupt with another ${field}`,
    does: async (kit) => {
      const interrupt = await asked(kit, CONNECT, {});
      return failing(resolve(kit, { ...interrupt, [field]: { kind: "another" } }, 1));
    },
  })),
  {
    name: "continued twice",
    does: async (kit) => {
      const interrupt = await asked(kit, CONNECT, {});
      return [await resolve(kit, interrupt, 1), await failing(resolve(kit, interrupt, 2))];
    },
  },
  {
    name: "denied, then approved",
    does: async (kit) => {
      const interrupt = await asked(kit, REMOVE);
      return [await failing(respond(kit, interrupt, false)), await failing(respond(kit, interrupt, true))];
    },
  },
  {
    name: "two that wait at the same time",
    does: async (kit) => {
      const first = await asked(
        kit,
        "return await Promise.all([tools.connect({ id: 1 }), tools.connect({ id: 2 })])",
        {},
      );
      const second = (await resolve(kit, first, "one")) as Interrupt;
      return [first.interruptId, second.interruptId, await resolve(kit, second, "two")];
    },
  },
];
