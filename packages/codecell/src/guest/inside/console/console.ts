/**
 * Console: the guest's `console`. It turns every call into one bounded text and passes it to `emit`. Runs inside the
 * guest.
 *
 * - Never throws because of its arguments, and runs no guest code except `toJSON` under %j.
 * - Counters, timers and the group indent live here, not on the object.
 */
import { clip, formatArguments } from "./format.ts";
import { renderTable } from "./inspect-table.ts";
import { renderValue } from "./inspect.ts";
import { indentLines } from "./inspect-layout.ts";
import {
  captureGetter,
  dateNow,
  defineConstant,
  isInteger,
  mapDelete,
  mapGet,
  mapSet,
  ownData,
  primordial,
  stringRepeat,
  stringSlice,
  toStringTag,
} from "../primordials.ts";

const MAX_INDENT = 40;
const MAX_LABELS = 1000;
const { Error, Map } = primordial;
const errorStack = captureGetter<string | undefined>(Error.prototype, "stack");

export function createConsole(emit: (level: string, text: string) => void): object {
  const counts = new Map<string, number>();
  const timers = new Map<string, number>();
  let labels = 0;
  let indent = "";

  function write(level: string, render: () => string): void {
    let text: string;
    try {
      text = render();
    } catch {
      text = "[A value that cannot be shown]";
    }
    emit(level, indent === "" ? text : clip(indent + indentLines(text, indent)));
  }

  function print(level: string, args: readonly unknown[]): void {
    write(level, () => formatArguments(args));
  }

  function labelOf(label: unknown): string {
    if (typeof label === "string") return stringSlice(label, 0, 256);
    return label === undefined ? "default" : stringSlice(renderValue(label, 0, 256), 0, 256);
  }

  function elapsed(label: unknown): string {
    const name = labelOf(label);
    const start = mapGet(timers, name);
    return start === undefined ? `Timer '${name}' does not exist` : `${name}: ${dateNow() - start}ms`;
  }

  const methods = {
    log(...data: unknown[]): void {
      print("log", data);
    },
    info(...data: unknown[]): void {
      print("info", data);
    },
    warn(...data: unknown[]): void {
      print("warn", data);
    },
    error(...data: unknown[]): void {
      print("error", data);
    },
    debug(...data: unknown[]): void {
      print("debug", data);
    },
    dir(item?: unknown, options?: unknown): void {
      write("log", () => {
        const asked = typeof options === "object" && options !== null ? ownData(options, "depth") : undefined;
        const depth = isInteger(asked) && (asked as number) >= 0 && (asked as number) < 4 ? asked : 4;
        return clip(renderValue(item, (depth as number) + 1, 16_384));
      });
    },
    dirxml(...data: unknown[]): void {
      print("log", data);
    },
    table(data?: unknown, properties?: unknown): void {
      write("log", () => clip(renderTable(data, properties)));
    },
    trace(...data: unknown[]): void {
      write("error", () => {
        const message = formatArguments(data);
        const stack = errorStack(new Error()) ?? "";
        return clip(`Trace${message === "" ? "" : `: ${message}`}\n${stack}`);
      });
    },
    assert(condition?: unknown, ...data: unknown[]): void {
      if (condition) return;
      write("error", () =>
        data.length === 0 ? "Assertion failed" : clip(`Assertion failed: ${formatArguments(data)}`),
      );
    },
    count(label?: unknown): void {
      write("log", () => {
        const name = labelOf(label);
        const count = (mapGet(counts, name) ?? 0) + 1;
        if (count === 1) labels += 1;
        if (labels <= MAX_LABELS) mapSet(counts, name, count);
        return `${name}: ${count}`;
      });
    },
    countReset(label?: unknown): void {
      if (mapDelete(counts, labelOf(label))) labels -= 1;
    },
    group(...data: unknown[]): void {
      if (data.length > 0) print("log", data);
      if (indent.length < MAX_INDENT) indent += "  ";
    },
    groupCollapsed(...data: unknown[]): void {
      if (data.length > 0) print("log", data);
      if (indent.length < MAX_INDENT) indent += "  ";
    },
    groupEnd(): void {
      indent = stringRepeat("  ", indent.length < 2 ? 0 : indent.length / 2 - 1);
    },
    time(label?: unknown): void {
      const name = labelOf(label);
      if (mapGet(timers, name) !== undefined || labels >= MAX_LABELS) return;
      labels += 1;
      mapSet(timers, name, dateNow());
    },
    timeLog(label?: unknown, ...data: unknown[]): void {
      write("log", () => {
        const text = elapsed(label);
        return data.length === 0 ? text : clip(`${text} ${formatArguments(data)}`);
      });
    },
    timeEnd(label?: unknown): void {
      write("log", () => elapsed(label));
      if (mapDelete(timers, labelOf(label))) labels -= 1;
    },
    clear(): void {},
  };
  defineConstant(methods, toStringTag, "console", true);
  return methods;
}
