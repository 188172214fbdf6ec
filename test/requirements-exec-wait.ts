/**
 * What `exec` and `wait` promise: the behaviours of `spec/exec-wait.md`, under their numbers there. Pure data.
 *
 * A proof cites `[exec-wait:<number>]`, and takes the number out of `PENDING` in the same commit.
 */

/** Those without a proof yet; the list only shrinks. */
export const PENDING: readonly number[] = [];

/** The first one is number 1. */
export const EXEC_WAIT: readonly string[] = [
  // Configuration
  "Off in any form, the model's tools are as without the feature, and nothing is started",
  "An object without a literal enabled: true leaves it off",
  "true is the same as { enabled: true }",
  "Another runtime or mode fails closed with invalid_config",
  "A language that is unknown or not enabled fails with unsupported_language",
  "Every setting has its default, its clamps, and ignores what is not a positive integer",
  "A sandbox that cannot load fails with runtime_unavailable, and no other tool is shown",
  // Activation and what the model sees
  "The model sees exactly exec and wait",
  "Runs without tools get neither, and their payload is not checked",
  "The policy is applied before anything is catalogued",
  "A payload that is not exactly exec and wait is refused or corrected",
  "Each run has its own catalog",
  "The tools of tool search are neither shown nor catalogued",
  "Tools marked direct-only stay visible and are not catalogued",
  // Catalog and guest API
  "ALL_TOOLS has one frozen, compact entry for each tool",
  "Ids are kind, owner and name, the same for the same tools",
  "A denied tool is not listed, not found and not callable",
  "search gives compact entries within its limits, exact names first",
  "describe adds the exact parameters, and rejects unknown ids",
  "call gives the tool's value, for tools of every kind",
  "call gives the plain value, without an envelope",
  "Safe, unambiguous names can be called directly",
  "Names that two tools share are not installed; both have their ids",
  "No tool replaces a helper or a prototype, and tools can be awaited",
  "A shell tool called exec is hidden, and callable by its id where allowed",
  "The exec and wait of code mode cannot be reached from a program",
  "tools and ALL_TOOLS cannot be changed",
  // Input of exec, languages, modules
  "Missing or blank code is a failed result with invalid_input",
  "JavaScript is the default, with await and return at the top level",
  "TypeScript runs with its types stripped and unchecked",
  "No compiler is loaded before a TypeScript program needs it",
  "Broken TypeScript fails with typescript_transform_failed and its line",
  "Errors name the line of the program as it was written",
  "A JavaScript syntax error fails with invalid_input and its place",
  "Module access in any spelling fails with module_access_denied before anything runs",
  "Texts, comments and names that only look like module access are fine",
  "Code made from strings loads nothing",
  "Shell commands given as code fail with invalid_input and a hint",
  // Shapes of results
  "Every answer of exec and wait has exactly one of the three shapes",
  "completed comes only when no call is outstanding",
  "Output made before a failure is in the failed result",
  // Output
  "Outputs keep their order, across waits too",
  "text shows strings as they are and values as JSON; json keeps structure",
  "What JSON cannot carry becomes a text or an error in its place",
  "Binary values do not pass as binary",
  "A completed result keeps to the output cap, and says what was left out",
  "A waiting result keeps to the output cap, counted over all waits",
  "Each output is delivered once",
  // Nested calls
  "A nested call has the context of a direct one",
  "Hooks see every nested call once, and may block or rewrite it",
  "Approval decides over nested calls, and waiting for it costs no time",
  "Streaming updates reach the parent's callback",
  "A failed call is a catchable guest error without anything of the host",
  "An uncaught failure of a call fails with nested_tool_failed",
  "Calls made together are in flight together",
  "Calls over the cap are queued; a batch over the queue runs none of them",
  "The first settled call wins a race",
  "A rejection that nobody handled fails the program",
  "Inputs and results cross as JSON only",
  "A reply that is too large is an error, never cut silently",
  // Limits and isolation
  "An endless program fails with timeout and holds up nobody",
  "A program that waits for nothing fails",
  "A program over its memory fails with memory_limit_exceeded",
  "Deep recursion is a catchable error",
  "Nothing of the host's environment can be reached",
  "Environment values appear in no result",
  "Programs share no globals",
  "Polluted prototypes stay inside their program",
  "No program can settle a call or read what is pending",
  "A worker that dies gives runtime_unavailable, and the next exec works",
  "The engine is a direct dependency",
  // Suspension and wait
  "wait goes on where exec stopped, with everything the program had",
  "A call that answers soon never costs a wait",
  "A slow call gives waiting near the deadline and goes on; nothing is run twice",
  "wait gives waiting again, with the same id, while calls are pending",
  "yield_control gives waiting with its reason, and wait continues",
  "A program may be suspended several times",
  "With one of two calls settled, a race is decided at wait",
  "An unknown or missing run id fails and says what to do next",
  "An expired run fails with snapshot_expired, and is freed by then",
  "An aborted run fails with aborted, promptly",
  "A wait from another scope fails and leaves the run to its owner",
  "Of two waits at once one wins; afterwards the id is dead",
  "A suspended run over its size fails with snapshot_limit_exceeded",
  "A damaged snapshot fails with snapshot_restore_failed",
  "Suspended runs are bounded in number, and their places are freed",
  "The end of a run and a shutdown delete all snapshots",
  "A timeout after a resume fails and leaves no snapshot",
  "Limits hold after a restore as before",
  // Error codes
  "Each error code is reached, with a bounded message that tells nothing of the host",
  "An error that only sounds like a timeout is not reported as one",
  // Telemetry, transcript
  "Telemetry has names, sizes, counts, failures and snapshot events",
  "Counts are exact, over waits too",
  "Telemetry has no inputs, results or secrets",
  "exec and wait replay byte-equal from a transcript",
  "A trajectory has one record for each nested call, under its parent",
  "Records of nested calls are not sent to the provider",
  "The debug log shows the two visible names and no secret",
  // End to end
  "The contract's plan of 14 steps runs as one script",
  // Beyond the contract
  "With 5,000 tools exec and suspended runs cost at most twice as much as with 10",
  "Pending calls name their tool, their start and a short input",
  "Searches understand synonyms",
  "The same program gives the same result on every executor",
  "A suspended run survives a restart where there is a durable store",
];
