/**
 * Requirements: what Codecell promises. Pure data.
 *
 * A test proves a promise by naming its id in square brackets in its title; `requirements.test.ts` fails when a promise
 * has no proof, or a proof names a promise that is not here.
 */
import { EXEC_WAIT } from "./requirements-exec-wait.ts";
import { HANDLES } from "./requirements-handles.ts";

export interface Requirement {
  readonly promise: string;
}

export const REQUIREMENTS: Readonly<Record<string, Requirement>> = {
  "source:typescript": { promise: "A program may be TypeScript; its types cost nothing at run time" },
  "source:shapes": {
    promise:
      "A bare body, a fenced block, a function, a default export and a last expression are all programs",
  },
  "source:modules-denied": {
    promise: "import, export, import.meta and require are refused before anything runs",
  },
  "source:position": { promise: "A failure names the line and column in the text the model wrote" },

  "check:before": {
    promise: "A program that can only fail is refused before anything runs, where that is asked for",
  },
  "check:provable": { promise: "What the check refuses would have failed: no program that works is stopped" },
  "check:advice": { promise: "What else the check has to say is told when the run fails, and only then" },
  "check:lazy": {
    promise: "The check asks for the declarations of the tools a program names, and no others",
  },
  "check:fails-open": { promise: "A check that cannot be made, or takes too long, stops nothing" },

  "guest:no-ambient-authority": { promise: "A program reaches nothing of the host but its tools" },
  "guest:no-code-from-strings": { promise: "A program cannot make code from strings" },
  "guest:clock-still": { promise: "The program's clock stands still between deliveries" },
  "guest:fresh": { promise: "Nothing a program changes is seen by the next one" },

  "value:refused-with-path": { promise: "What JSON cannot carry is refused with its path, never lost" },
  "value:as-json": { promise: "undefined is null, dates are ISO texts, NaN and infinities are null" },

  "result:closed": { promise: "A result is completed, suspended or failed, and the compiler knows it" },
  "result:logs": { promise: "Log lines come back in order with their levels" },
  "result:unhandled": {
    promise: "A rejection nobody handled fails the run, judged when the program has ended",
  },
  "result:detached": {
    promise: "Where that is asked for, a call the program has not waited for when it returns fails the run",
  },
  "result:deadlock": { promise: "A program that waits for what can never happen fails at once" },

  "tools:standard-schema": { promise: "Standard Schema validates and converts inputs and outputs" },
  "tools:json-schema": { promise: "JSON Schema validates inputs and outputs" },
  "tools:shapes": {
    promise:
      "A value that is not a tool, or has an invalid schema, is refused before anything runs, with a hint",
  },
  "tools:direct": {
    promise: "Tools that the model calls by itself get inputs that fit their schemas, converted once",
  },
  "tools:typed": { promise: "The types of execute follow from the tool's schemas" },
  "tools:did-you-mean": { promise: "A wrong tool name is answered with the closest ones" },
  "tools:failures-caught": { promise: "A program can catch a failed call and read its code" },
  "tools:no-secrets": { promise: "Of an error only name, message and code cross to the program" },
  "tools:async-iterable": {
    promise: "A tool may stream: every value is progress, the last one is the output",
  },
  "tools:middleware": {
    promise: "Middleware decides on a call, rewrites its input, surrounds its tool and is told its outcome",
  },
  "tools:caller-context": { promise: "The caller's AsyncLocalStorage is intact in tools and policy" },

  "declare:faithful": {
    promise: "A declared type compiles, accepts what its schema allows and refuses what types can refuse",
  },
  "declare:compact": { promise: "Declarations take fewer tokens than those of any printer as faithful" },
  "declare:bounded": { promise: "A declaration keeps to its bound, and says how much it left out" },
  "declare:any-schema": {
    promise: "Any schema, hostile ones too, is declared quickly, without throwing and the same each time",
  },
  "declare:comments": { promise: "Texts of a schema never leave their comment" },
  "declare:guest-api": { promise: "Guest programs can be written in an editor, with the types of the tools" },

  "policy:validated-input": { promise: "The policy decides on the validated input, before the tool runs" },
  "policy:no-proto": { promise: "No input or resolution with a key __proto__ reaches a tool, at any depth" },
  "policy:fails-closed": { promise: "A call is denied when its policy fails" },
  "policy:unhurried": { promise: "Waiting for a decision does not use up wall time" },

  "calls:parallel": { promise: "Calls made together run together" },
  "calls:in-flight": { promise: "No more calls execute at once than limits.callsInFlight" },
  "calls:batch-whole": { promise: "A batch that does not fit the queue is refused as a whole" },
  "calls:drained": { promise: "Calls nobody awaited are finished before the run completes" },
  "calls:aborted": { promise: "When a run ends early its calls are told to stop" },

  "fetch:policy": {
    promise: "A program has fetch when its run has a fetch policy, and reaches what that allows",
  },
  "fetch:call": { promise: "A fetch is a call: numbered, recorded, limited and told of, but not authorised" },
  "fetch:redirects": {
    promise: "Redirects are followed only where that is allowed, hop by hop under the whole policy",
  },
  "fetch:bounded": { promise: "Of a response no more is read than its bound, after decompression" },
  "fetch:addresses": {
    promise: "Where private addresses are blocked, the address that was checked is the one connected to",
  },
  "fetch:aborted": { promise: "When a run ends its requests are given up" },
  "fetch:replay": { promise: "A replay makes no request" },
  "fetch:resume": {
    promise:
      "A resumed run repeats none of its fetches, and makes new ones under the policy it is resumed with",
  },

  "store:one-claimant": { promise: "A stored run has one claimant at a time, over all processes" },
  "store:nothing-twice": {
    promise: "A lost connection makes no change fail that was made, nor happen twice",
  },
  "store:whole": { promise: "A process that is killed leaves every change whole or not made" },

  "limits:hold": { promise: "Every limit holds, with a failure that names it" },
  "limits:resolved": { promise: "Limits are resolved once: clamped to their bounds, wrong ones throw" },

  "host:heartbeat": { promise: "Whatever a program does, the host's event loop goes on" },
  "host:judged-in-steps": {
    promise:
      "No value a program chooses holds up the host against any JSON Schema, however slow the machine is",
  },
  "host:short-turns": {
    promise:
      "Nothing that a program says holds the host's thread for 50 ms at a time, under the default limits",
  },
  "host:memory": {
    promise:
      "Nothing that a program says makes the host take 64 MB beyond the run's own limits, under the default ones",
  },
  "host:neighbours": { promise: "A hostile program takes no other run with it" },
  "host:fair": {
    promise:
      "A run that computes keeps no other waiting: it moves to threads for such runs, with its calls, its limits and its turn",
  },
  "otel:spans": {
    promise: "With tracing every run and every call leaves a span, whichever door it came through",
  },
  "otel:silent": {
    promise: "A span tells no source, input, output or message, and a tracer changes nothing",
  },

  "host:one": {
    promise:
      "A host given to codecell/ai or codecell/surface holds there too; without one all share that of the process",
  },
  "host:bounded": { promise: "A host holds no more live runs than it may" },
  "host:released": { promise: "Disposing a host ends its runs and its workers" },
  "host:thread-ends": {
    promise: "The end of a worker's thread, whatever the worker is doing, does not end the process",
  },
  "host:own-flags": {
    promise: "Flags, preloaded modules and the environment of the process do not reach workers",
  },
  "host:misuse": {
    promise:
      "Options of the wrong kind throw at once, in words of ours; nothing of them ends the process later",
  },
  "host:permissions": {
    promise: "A process that may not start threads gets failed results that say what to allow",
  },
  "host:errors": {
    promise: "Errors of the host's own code are told to the host as they were thrown, and to nobody else",
  },
  "host:exits": { promise: "A process with an idle host ends by itself" },
  "host:heap-budget": {
    promise:
      "The heaps of all programs together stay within a budget: programs wait for their turn, and none is lost",
  },
  "host:address-space": {
    promise:
      "Where a process has few addresses, fewer threads serve all runs, or runs fail at once and say why",
  },
  "host:flat": { promise: "A thousand runs leave the numbers of workers and handles flat" },

  "events:story": { promise: "Events tell the run's story in order, to any number of readers" },
  "events:one": {
    promise: "A listener hears all that happens to calls; inspection and trajectory are what its events give",
  },

  "ledger:replay": { promise: "A ledger replays to the same result without calling any tool" },
  "ledger:divergence": { promise: "A replay that differs from its ledger fails, it never guesses" },

  "suspend:resume": { promise: "A suspended run goes on where it stopped, in any host with the key" },
  "ledger:inspect": { promise: "A ledger can be looked into: every call and delivery, with times and sizes" },
  "ledger:fork": { promise: "A new run can share the past of another up to the outcome of one call" },

  "cell:sleep": { promise: "A cell that waits for long costs a few kilobytes and no worker" },
  "cell:digest": { promise: "A snapshot of another build is left aside, and the ledger replayed" },

  "suspend:tools": {
    promise:
      "A run is not taken by a host that lacks a tool its calls wait for, and goes on in one that has it",
  },
  "suspend:expiry": { promise: "A run is not resumed after the expiry that it was sealed with" },
  "suspend:forged": {
    promise: "A forged interrupt makes nobody believe that a program waits or was lost",
  },
  "suspend:lost": { promise: "That a suspended run cannot be opened, or will not be, is told to its host" },
  "suspend:policy": { promise: "The host's policy can suspend a run and sees the decision when it goes on" },
  "suspend:caught": {
    promise:
      "A tool that asked to be suspended is, whatever it does with what that throws: its outcome counts for nothing",
  },
  "suspend:deadline": {
    promise: "A run whose time is up while it waits can be suspended, and its calls go on",
  },
  "suspend:yield": {
    promise: "A program that may yield suspends its run when it does, and goes on when it is resumed",
  },
  "suspend:tampered": { promise: "Bytes that were altered are refused before any of them is interpreted" },
  "suspend:flat": { promise: "A snapshot does not grow with the number of calls behind it" },
  "suspend:snapshot": { promise: "A run comes back from its memory as from its ledger" },
  "suspend:single-use": { promise: "A token resumes its run once" },
  "suspend:sealed": {
    promise: "An altered, foreign or expired token is refused, and the failure says which",
  },
  "suspend:rotation": { promise: "Keys can be replaced without losing suspended runs" },
  "suspend:scope": { promise: "A token resumes under the scope it was suspended under, and no other" },
  "store:suspend": { promise: "A suspended run is resumed by any host that shares the store" },
  "suspend:discard": {
    promise: "A suspended run that is given up can be resumed by nobody, and leaves nothing",
  },
  "store:flat": { promise: "With a snapshot, what a suspension writes does not grow with the run" },
  "store:fencing": { promise: "A process that lost its run to another stops, and changes nothing" },
  "store:ended": {
    promise:
      "An ended run is kept only where the host asks, within its bounds, and read only with the host's key",
  },
  "store:open-facts": { promise: "A store knows nothing of a run in the open but its summary" },
  "store:driver": { promise: "A driver of nine methods, as the guide shows one, is a whole store" },
  "store:leave": { promise: "A host that closes leaves its runs to others" },
  "store:late": { promise: "What calls come to after their run was suspended is kept for it" },
  "store:executor": {
    promise: "Calls that go on elsewhere are waited for exactly as long as somebody executes them",
  },
  "store:sleep": { promise: "A cell that sleeps leaves the process, and goes on in any other" },
  "store:unknown": {
    promise:
      "A call whose outcome nobody knows is repeated only if its tool allows it, else the program is told",
  },
  "store:refuses": {
    promise: "A store that refuses ends a run before anything is called, never corrupts it",
  },
  "store:crash": {
    promise:
      "Processes that are killed lose no run and call nothing twice that may not be, and the result stays right",
  },
  "store:asked-once": { promise: "What was decided about a call is not asked again after a crash" },
  "store:nothing-left": { promise: "A run that ended leaves nothing in its store" },
  "suspend:encrypted": { promise: "With encryption, whoever holds a token can read nothing of its run" },

  "package:runs": { promise: "The packed package runs on its own and lets its process end" },
  "package:bundles": {
    promise: "A server's bundle runs where nothing but its output folder is, without configuration",
  },
  "docs:true": { promise: "The code in the documents runs, and what is made from the code equals it" },

  "search:exact-first": { promise: "The id or name of a tool finds it first" },
  "search:nothing-found": { promise: "A request that fits no tool finds none" },
  "search:quality": { promise: "Tools are found by what they do, also in other words than their own" },
  "search:bounded": { promise: "Hostile texts and schemas do not hold up a search" },

  "surface:stable": { promise: "Equal catalogs and settings are shown to a model with equal bytes" },
  "surface:bounded": { promise: "The index of tools keeps to its budget, whatever tools are called" },
  "surface:counted": {
    promise: "What the index leaves out is counted: every owner is named, or owners are counted",
  },
  "surface:honest": { promise: "A model is told of what its run has, and of nothing else" },
  "surface:tokens": { promise: "What a model reads of 215 tools costs less than 1,500 tokens" },

  ...Object.fromEntries(
    EXEC_WAIT.map((promise, index): [string, Requirement] => [`exec-wait:${index + 1}`, { promise }]),
  ),
  ...Object.fromEntries(
    Object.entries(HANDLES).map(([number, promise]): [string, Requirement] => [
      `handles:${number}`,
      { promise },
    ]),
  ),
};
