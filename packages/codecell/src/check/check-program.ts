/**
 * Runs in the check's thread. Finds everything there is to say about one program.
 *
 * - `source/` refuses in its own words; syntax errors of the compiler are not told.
 * - A program in JavaScript gets no advice about types.
 */
import { cutShort } from "../contract/cut-short.ts";
import type { Diagnostic, DiagnosticCode } from "../contract/diagnostic.ts";
import type { Failure } from "../contract/failure.ts";
import { toPosition } from "../source/position.ts";
import { prepareTypedSource } from "../source/prepare.ts";
import { toAdvice } from "./advice.ts";
import { findCallSites, namedTools } from "./call-sites.ts";
import type { Compiler } from "./compiler.ts";
import { toAnything } from "./declare-tools.ts";
import { Reachabilities } from "./reachability.ts";
import { findWrongArguments } from "./find-arguments.ts";
import { findMissingAwaits } from "./find-awaits.ts";
import { closestTools, findUnknownNames } from "./find-names.ts";
import type { Finding } from "./finding.ts";
import { linkProgram, parseProgram, toBodyOffset } from "./linked-program.ts";
import type { CheckCommand, Declared, DeclaredTool, Findings } from "./messages.ts";

/** Most tools whose declarations are asked for. All further tools that a program names take and give anything. */
const MOST_TOOLS = 200;
const MOST_DIAGNOSTICS = 20;
/** Room for a long name, what is closest to it, and a signature. */
const LONGEST_MESSAGE = 2000;
const NOTHING: Findings = { problems: [], advice: [], failure: undefined };

export type Declare = (names: readonly string[]) => Promise<Declared>;

export async function checkProgram(
  compiler: Compiler,
  { source, language, globals }: CheckCommand,
  declare: Declare,
): Promise<Findings> {
  const typed = prepareTypedSource(source, language);
  if (!typed.ok) return { problems: [toDiagnostic(typed.failure)], advice: [], failure: typed.failure };
  const parsed = parseProgram(compiler, typed, language);
  if (parsed === undefined) return NOTHING;
  const { names, isOpen } = namedTools(compiler.ts, parsed.main);
  const declared = withRest(await declare(names.slice(0, MOST_TOOLS)), names);
  const closest = closestTools(declared);
  const firsts = [...closest.values()].flatMap(([first]) => first ?? []);
  const alike = await declare([...new Set(firsts)]);
  const linked = linkProgram(compiler, parsed, declared, {
    globals,
    isOpen,
    isResultImplied: typed.isResultImplied,
  });
  const diagnostics = linked.program.getSemanticDiagnostics(linked.file);
  const reachabilities = new Reachabilities(linked, diagnostics);
  const { sites, isInquisitive } = findCallSites(linked);
  const findings = [
    ...findUnknownNames(linked, sites, reachabilities, { closest, alike }),
    ...findWrongArguments(linked, sites, reachabilities),
    ...findMissingAwaits(linked, sites, reachabilities),
  ];
  // A program that looks at what exists may take another way because of what it sees.
  const isProblem = ({ isProvable }: Finding): boolean => isProvable && !isInquisitive;

  const place = (code: DiagnosticCode, start: number, what: string): Diagnostic => {
    const position = toPosition(source, typed.toSourceOffset(toBodyOffset(start)));
    // A message may repeat a name or an expression of the program, however long it is.
    const told = cutShort(what, LONGEST_MESSAGE);
    return { code, message: `${told} (line ${position.line}, column ${position.column})`, position };
  };
  const toPlaced = ({ code, node, what }: Finding): Diagnostic => place(code, node.getStart(), what);
  const others = language === "typescript" ? toAdvice(compiler.ts, diagnostics) : [];
  // Where a finding is, the compiler often objects to the same mistake: leave its advice out there.
  const said = findings.map(({ node }) => ({ start: node.getStart(), end: node.end }));
  return {
    problems: inOrder(findings.filter(isProblem).map(toPlaced)),
    advice: inOrder([
      ...findings.filter((finding) => !isProblem(finding)).map(toPlaced),
      ...others
        .filter((one) => !said.some(({ start, end }) => start <= one.start && one.start < end))
        .map(({ start, what }) => place("type", start, what)),
    ]),
    failure: undefined,
  };
}

/** Tools that nobody was asked about exist, and take and give anything. */
function withRest({ tools, names }: Declared, wanted: readonly string[]): Declared {
  if (wanted.length <= MOST_TOOLS) return { tools, names };
  const rest = wanted.slice(MOST_TOOLS).map((name): [string, DeclaredTool] => [name, toAnything(name)]);
  return { tools: new Map([...tools, ...rest]), names };
}

function toDiagnostic({ code, message, position }: Failure): Diagnostic {
  return {
    code: code === "module_denied" ? code : "syntax_error",
    message,
    ...(position === undefined ? {} : { position }),
  };
}

function inOrder(diagnostics: readonly Diagnostic[]): Diagnostic[] {
  return diagnostics
    .toSorted(
      ({ position: a }, { position: b }) =>
        (a?.line ?? 0) - (b?.line ?? 0) || (a?.column ?? 0) - (b?.column ?? 0),
    )
    .slice(0, MOST_DIAGNOSTICS);
}
