/**
 * Runs on the host. Makes the failure of a run that never began from the problems of its program, in words for the
 * model.
 */
import type { Diagnostic } from "../contract/diagnostic.ts";
import type { Failure } from "../contract/failure.ts";

const MOST_SHOWN = 5;

export function toCheckFailure(problems: readonly Diagnostic[]): Failure {
  const [first] = problems;
  const shown = problems.slice(0, MOST_SHOWN).map(({ message }) => message);
  const more = problems.length > MOST_SHOWN ? [`and ${problems.length - MOST_SHOWN} more`] : [];
  const many = problems.length === 1 ? "an error" : `${problems.length} errors`;
  return {
    code: "check_failed",
    message: `The program has ${many} and was not run, correct it and send it again: ${[...shown, ...more].join("; ")}`,
    ...(first?.position === undefined ? {} : { position: first.position }),
    details: { problems },
  };
}
