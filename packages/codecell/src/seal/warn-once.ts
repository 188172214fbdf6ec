/** Warnings of a process, each told once: of what no result can tell, since nobody made a mistake that fails anything yet. */
const told = new Set<string>();

export function warnOnce(code: `CODECELL_${string}`, message: string): void {
  if (told.has(code)) return;
  told.add(code);
  process.emitWarning(message, { type: "CodecellWarning", code });
}
