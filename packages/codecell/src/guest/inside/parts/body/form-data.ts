/**
 * FormData: names with texts and files, in order. Runs inside the guest.
 */
import { dressClass, requireArguments } from "../../expose.ts";
import {
  append,
  apply,
  at,
  defineHidden,
  defineVisible,
  iterator,
  type List,
  list,
  primordial,
} from "../../primordials.ts";
import { createPairIterators } from "../../web/pair-iterator.ts";
import { toWellFormedText } from "../../web/webidl.ts";
import { blobDataOf, type File, fileDataOf, makeFile } from "./blob.ts";

const { TypeError } = primordial;

export interface FormEntry {
  readonly name: string;
  readonly value: string | File;
}

/** Undefined for what is not a FormData. */
export let entriesOf: (value: unknown) => List<FormEntry> | undefined;

/** An entry as `append` and `set` make it; a blob becomes a file. */
function toEntry(name: string, value: unknown, args: number, filename: unknown): FormEntry {
  const data = blobDataOf(value);
  if (data === undefined) {
    if (args > 2) {
      throw new TypeError(
        "Cannot add to the form: only a Blob can have a file name, leave the third argument out",
      );
    }
    return { name, value: toWellFormedText(value) };
  }
  const file = fileDataOf(value);
  if (file !== undefined && filename === undefined) return { name, value: value as File };
  const called = filename === undefined ? "blob" : toWellFormedText(filename);
  return { name, value: makeFile(data.bytes, data.type, called, file?.lastModified) };
}

export class FormData {
  #entries: List<FormEntry> = list();

  static {
    entriesOf = (value) =>
      typeof value === "object" && value !== null && #entries in value ? value.#entries : undefined;
  }

  constructor(form: unknown = undefined) {
    if (form !== undefined)
      throw new TypeError("Cannot make a FormData of a form: there are no forms here, append to it");
  }

  append(name: unknown, value: unknown, filename: unknown = undefined): void {
    const entries = this.#entries;
    requireArguments("append to the form", arguments.length, 2);
    append(entries, toEntry(toWellFormedText(name), value, arguments.length, filename));
  }

  delete(name: unknown): void {
    const entries = this.#entries;
    requireArguments("delete from the form", arguments.length, 1);
    const wanted = toWellFormedText(name);
    let kept = 0;
    for (let i = 0; i < entries.length; i += 1) {
      if (at(entries, i).name === wanted) continue;
      entries[kept] = at(entries, i);
      kept += 1;
    }
    entries.length = kept;
  }

  get(name: unknown): string | File | null {
    const entries = this.#entries;
    requireArguments("get from the form", arguments.length, 1);
    const wanted = toWellFormedText(name);
    for (let i = 0; i < entries.length; i += 1)
      if (at(entries, i).name === wanted) return at(entries, i).value;
    return null;
  }

  getAll(name: unknown): (string | File)[] {
    const entries = this.#entries;
    requireArguments("get from the form", arguments.length, 1);
    const wanted = toWellFormedText(name);
    const found: (string | File)[] = [];
    for (let i = 0; i < entries.length; i += 1) {
      if (at(entries, i).name === wanted) defineVisible(found, found.length, at(entries, i).value);
    }
    return found;
  }

  has(name: unknown): boolean {
    const entries = this.#entries;
    requireArguments("look into the form", arguments.length, 1);
    const wanted = toWellFormedText(name);
    for (let i = 0; i < entries.length; i += 1) if (at(entries, i).name === wanted) return true;
    return false;
  }

  set(name: unknown, value: unknown, filename: unknown = undefined): void {
    const entries = this.#entries;
    requireArguments("set in the form", arguments.length, 2);
    const made = toEntry(toWellFormedText(name), value, arguments.length, filename);
    let kept = 0;
    let isSet = false;
    for (let i = 0; i < entries.length; i += 1) {
      const entry = at(entries, i);
      if (entry.name === made.name && isSet) continue;
      entries[kept] = entry.name === made.name ? made : entry;
      if (entry.name === made.name) isSet = true;
      kept += 1;
    }
    entries.length = kept;
    if (!isSet) append(entries, made);
  }

  forEach(callback: unknown, self: unknown = undefined): void {
    const entries = this.#entries;
    if (typeof callback !== "function")
      throw new TypeError("Cannot call forEach: the callback is not a function");
    for (let i = 0; i < entries.length; i += 1) {
      const { name, value } = at(entries, i);
      apply(callback as () => unknown, self, [value, name, this]);
    }
  }

  entries(): IterableIterator<[string, string | File]> {
    return iterate(branded(this), "entries");
  }

  keys(): IterableIterator<string> {
    return iterate(branded(this), "keys");
  }

  values(): IterableIterator<string | File> {
    return iterate(branded(this), "values");
  }
}

function branded(form: FormData): FormData {
  if (entriesOf(form) === undefined) throw new TypeError("Illegal invocation");
  return form;
}

const iterate = createPairIterators<FormData>("FormData", (form, index) => entriesOf(form)?.[index]);

/** A form of entries that were read from a body. */
export function makeForm(entries: List<FormEntry>): FormData {
  const form = new FormData();
  const own = entriesOf(form) as List<FormEntry>;
  for (let i = 0; i < entries.length; i += 1) append(own, at(entries, i));
  return form;
}

defineHidden(FormData.prototype, iterator, FormData.prototype.entries);
dressClass("FormData", FormData);
