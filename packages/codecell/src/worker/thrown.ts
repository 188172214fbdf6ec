/**
 * Runs in a worker thread. Turns an error that the prelude reported into a failure with positions in the model's own
 * source.
 */
import type { Failure, FailureCode, Position } from "../contract/failure.ts";
import { SOURCE_FILE } from "../guest/abi.ts";
import { type PreparedSource, toSourcePosition } from "../source/prepare.ts";

export interface ThrownError {
  readonly name: string;
  readonly message: string;
  readonly stack: string;
}

const FRAME = new RegExp(`^\\s*at (?:(.*?) \\()?${SOURCE_FILE}:(\\d+):(\\d+)\\)?$`);
const MAX_FRAMES = 20;

export function toFailure(code: FailureCode, thrown: ThrownError, source: PreparedSource): Failure {
  const frames = toFrames(thrown.stack, source);
  const position = frames[0]?.position;
  const what = thrown.name === "" ? `Uncaught ${thrown.message}` : `${thrown.name}: ${thrown.message}`;
  return {
    code,
    message: position === undefined ? what : `${what} (line ${position.line}, column ${position.column})`,
    ...(position === undefined ? {} : { position }),
    error: {
      name: thrown.name,
      message: thrown.message,
      ...(frames.length === 0 ? {} : { stack: frames.map((frame) => frame.text).join("\n") }),
    },
  };
}

/** Does not name the tool: the host knows what was called. */
export function detachedCall(stack: string, source: PreparedSource): Failure {
  const position = toFrames(stack, source)[0]?.position;
  return {
    code: "detached_call",
    message: "The program returned without waiting for a call",
    ...(position === undefined ? {} : { position }),
  };
}

/** The frames that lie in the source. Frames of the prelude are left out. */
function toFrames(
  stack: string,
  source: PreparedSource,
): { readonly text: string; readonly position: Position }[] {
  const frames: { text: string; position: Position }[] = [];
  for (const line of stack.split("\n")) {
    const match = FRAME.exec(line);
    if (match === null) continue;
    const position = toSourcePosition(source, Number(match[2]), Number(match[3]));
    if (position === undefined) continue;
    const place = `line ${position.line}, column ${position.column}`;
    const name = match[1];
    frames.push({
      text: name === undefined || name.startsWith("<") ? `at ${place}` : `at ${name} (${place})`,
      position,
    });
    if (frames.length === MAX_FRAMES) break;
  }
  return frames;
}
