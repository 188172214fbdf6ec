/**
 * Runs anywhere. Where a text is no JSON: all that may be told of it, as the words of Node.js quote the text, which may
 * have a secret or a part of one.
 */
export function positionOf(error: unknown): string {
  const [, line, column] =
    /\(line (\d{1,10}) column (\d{1,10})\)$/u.exec(error instanceof SyntaxError ? error.message : "") ?? [];
  return line === undefined ? "" : ` at line ${line}, column ${column}`;
}
