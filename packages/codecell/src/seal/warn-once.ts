/** Runs on the host. Warns once per process and code, about what no result can tell: nothing has failed yet. */
const told = new Set<string>();

export function warnOnce(code: `CODECELL_${string}`, message: string): void {
  if (told.has(code)) return;
  told.add(code);
  process.emitWarning(message, { type: "CodecellWarning", code });
}
