/**
 * Runs on the host. Says whether a source that failed was probably a shell command or Python, so that a hint makes
 * sense.
 *
 * - Asked only about sources that failed before they called anything. Nothing is refused because of the answer.
 * - In doubt the answer is no: what could be JavaScript counts as JavaScript.
 * - Reads a bounded beginning, once.
 * - `source/` has two other questions and answers them otherwise. `shape.ts` refuses one statement of JavaScript that
 *   can only be meant as a command, whatever its first word. `parse.ts` tells prose from a faulty program.
 */

const MOST_CHARACTERS = 4000;
const MOST_LINES = 40;

/** Commands that begin lines. Words that begin statements of TypeScript are not in the list. */
const COMMANDS: ReadonlySet<string> = new Set(
  [
    "apt apt-get awk bash brew bun bundle cargo cat cd chmod chown clear cmake cp curl cut date dd deno df diff dig",
    "docker docker-compose dotnet du echo egrep env fgrep file find gcc gem git go gradle grep gunzip gzip head helm",
    "hostname htop id ifconfig java jq kill kubectl less ln ls lsof make man md5sum mkdir more mv mvn mysql nano nc",
    "netstat nl node npm npx nslookup ping pip pip3 pnpm poetry printenv printf ps psql pwd pytest python python3",
    "read rg rm rmdir rsync ruby rustc scp sed sh sha256sum sleep sort source sqlite3 ssh stat su sudo systemctl",
    "tail tar tee terraform top touch tr traceroute tree uname uniq unzip uptime uv vi vim wc wget which whoami",
    "xargs yarn zip zsh",
  ].flatMap((line) => line.split(" ")),
);
/** Commands that may be alone on a line; other words of the list might be variables there. */
const ALONE: ReadonlySet<string> = new Set(
  "ls pwd whoami uname hostname uptime df du htop clear printenv ifconfig netstat".split(" "),
);
/** Words that stand between two operands of JavaScript. */
const WORD_OPERATORS: ReadonlySet<string> = new Set(["in", "instanceof", "of", "as", "satisfies", "is"]);
const FOREIGN_FENCES: ReadonlySet<string> = new Set(
  "bash sh shell zsh console terminal powershell python py python3".split(" "),
);
/** Words that begin Python blocks, if their line ends with a colon. */
const PYTHON_BLOCKS: ReadonlySet<string> = new Set([
  "def",
  "class",
  "for",
  "while",
  "if",
  "elif",
  "with",
  "except",
]);
const PYTHON_LINES: ReadonlySet<string> = new Set(["try:", "else:", "finally:", "except:"]);
const FOLDERS = ["/usr/", "/bin/", "/opt/", "/etc/"];
const POWERSHELL_VERBS = ["Get-", "Set-", "New-", "Remove-", "Invoke-", "Write-", "Start-", "Stop-"];

export function looksLikeShell(source: string): boolean {
  const lines = source
    .slice(0, MOST_CHARACTERS)
    .split("\n", MOST_LINES)
    .map((line) => line.trim())
    .filter((line) => line !== "");
  const [first = ""] = lines;
  if (first.startsWith("#!")) return !["node", "deno", "bun", "tsx"].some((name) => first.includes(name));
  if (first.startsWith("```") && FOREIGN_FENCES.has(first.slice(3).trim().toLowerCase())) return true;
  const code = lines.filter((line) => !line.startsWith("#") && !line.startsWith("```"));
  const [start = ""] = code;
  return isCommand(start, code.length === 1) || isShellBlock(code) || isPython(code);
}

function isCommand(line: string, isOnly: boolean): boolean {
  if (line.startsWith("$ ")) return isLetter(line.charAt(2));
  if (line.startsWith("./") || line.startsWith("~/")) return isLetter(line.charAt(2));
  if (FOLDERS.some((folder) => line.startsWith(folder) && isFileName(line.slice(folder.length)))) return true;
  const word = wordOf(line);
  const rest = line.slice(word.length);
  if (POWERSHELL_VERBS.some((verb) => word.startsWith(verb) && isCapital(word.charAt(verb.length))))
    return true;
  // NAME=value command
  if (rest.startsWith("=") && isCapital(word.charAt(0)) && rest.charAt(1) !== "=" && rest.charAt(1) !== " ") {
    const [, ...after] = rest.split(" ");
    return COMMANDS.has(wordOf(after.join(" ")));
  }
  if (!COMMANDS.has(word)) return false;
  if (rest === "") return isOnly && ALONE.has(word);
  if (rest.startsWith(";")) return ALONE.has(word) && isCommand(rest.slice(1).trim(), true);
  return rest.startsWith(" ") && isArgument(rest.trim());
}

/** Whether a text begins with a file name, and not with the flags of a regular expression. */
function isFileName(text: string): boolean {
  const word = wordOf(text);
  return word.length > 1 && ["", " ", "/"].includes(text.charAt(word.length));
}

/** Whether the text after a command and a space is an argument, and no operator of JavaScript. */
function isArgument(text: string): boolean {
  const [one = "", two = ""] = text;
  const isEnd = two === "" || two === " ";
  if (one === "-") return two === "-" ? text.charAt(2) !== "" && isLetter(text.charAt(2)) : isWordPart(two);
  if (one === "/" || one === "~") return isEnd ? text.length === 1 : isLetter(two) || two === "/";
  if (one === ".")
    return isEnd || two === "/" || text === ".." || text.startsWith("../") || text.startsWith(".. ");
  if (one === "*") return isEnd ? text.length === 1 : two === ".";
  if (one === "<") return text.startsWith("<<") && !text.startsWith("<<=") && text.charAt(2) !== " ";
  if (one === "|" || one === "&") {
    const joined = text.startsWith("||") || text.startsWith("&&") ? text.slice(2) : text.slice(1);
    return COMMANDS.has(wordOf(joined.trim()));
  }
  if (one === '"' || one === "'" || one === "$" || one === "@") return true;
  if (!isWordPart(one)) return false;
  return !WORD_OPERATORS.has(wordOf(text));
}

/** Recognises loops and conditions of shells. */
function isShellBlock(lines: readonly string[]): boolean {
  const [first = ""] = lines;
  if (first.startsWith("if [ ") || first.startsWith("if [[ ") || first.startsWith("while read ")) return true;
  const opens = lines.some((line) => line.endsWith("; do") || line.endsWith("; then"));
  const isOneLine = first.startsWith("for ") && first.includes("; do ") && first.endsWith("done");
  return isOneLine || (opens && lines.some((line) => line === "done" || line === "fi"));
}

function isPython(lines: readonly string[]): boolean {
  const isBlock = lines.some((line) => {
    if (PYTHON_LINES.has(line)) return true;
    const start = line.startsWith("async def ") ? "async ".length : 0;
    const word = wordOf(line.slice(start));
    return line.endsWith(":") && PYTHON_BLOCKS.has(word) && line.charAt(start + word.length) === " ";
  });
  return isBlock || lines.some(isPythonImport) || isPrinting(lines);
}

/** Recognises an import without quotes: JavaScript quotes the name of a module. */
function isPythonImport(line: string): boolean {
  if (line.includes('"') || line.includes("'") || line.includes("`")) return false;
  const words = line.split(" ");
  if (words[0] === "from") return words[2] === "import";
  return (
    words[0] === "import" && words.length > 1 && isLetter(words[1]?.charAt(0) ?? "") && !line.includes("=")
  );
}

function isPrinting(lines: readonly string[]): boolean {
  const isJavaScript = lines.some(
    (line) =>
      line.endsWith(";") ||
      line.endsWith("{") ||
      line.includes("=>") ||
      ["const", "let", "var", "function", "return", "await", "async"].includes(wordOf(line)),
  );
  return !isJavaScript && lines.some((line) => line.startsWith("print("));
}

/** The letters, digits, underscores and dashes at the beginning. */
function wordOf(text: string): string {
  let end = 0;
  while (end < text.length && (isWordPart(text.charAt(end)) || text.charAt(end) === "-")) end++;
  return text.slice(0, end);
}

function isWordPart(character: string): boolean {
  return isLetter(character) || (character >= "0" && character <= "9") || character === "_";
}

function isLetter(character: string): boolean {
  return (character >= "a" && character <= "z") || isCapital(character);
}

function isCapital(character: string): boolean {
  return character >= "A" && character <= "Z";
}
