/** Types of what a host may give as the context of an agent run. */
import { expectTypeOf, test } from "vitest";
import { prepareAgentRun, type PreparedAgentRun } from "./prepare-agent-run.ts";

interface OwnContext {
  readonly agentId: string;
  readonly runId: string;
  readonly sessionId: string;
  readonly sessionKey: string;
  readonly sender: { readonly name: string };
}

const ofOwnType = (context: OwnContext): PreparedAgentRun =>
  prepareAgentRun({ config: true, tools: {}, context });

const writtenDown = (): PreparedAgentRun =>
  prepareAgentRun({
    config: true,
    tools: {},
    context: { agentId: "a", runId: "r", sessionId: "s", sessionKey: "k", channel: 5 },
    approve: ({ context }) => (context["channel"] === 5 ? "allow" : { deny: "no" }),
  });

test("a context may have the host's own type, or be a literal with more in it", () => {
  expectTypeOf(ofOwnType).returns.toEqualTypeOf<PreparedAgentRun>();
  expectTypeOf(writtenDown).returns.toEqualTypeOf<PreparedAgentRun>();
  // @ts-expect-error a part of the scope is missing
  expectTypeOf(prepareAgentRun).toBeCallableWith({ config: true, tools: {}, context: { agentId: "a" } });
});
