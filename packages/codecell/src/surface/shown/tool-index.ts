/**
 * Runs on the host. The tool index shows as much of a catalog as fits into so many characters, for writers of
 * programs.
 *
 * - Every owner is named with its number of tools and has some of them listed, tools with known outputs first. What
 *   is left out is counted. If there are too many owners for a line each, they are listed by size and the rest is
 *   counted.
 * - It is a pure function of the catalog's content. Neither the order of sources nor what was observed of outputs
 *   changes a byte, so that a provider's cache stays valid.
 * - Of catalogs with thousands of tools, mostly the names are read.
 */
import type { Catalog } from "../../catalog/catalog.ts";
import { hasKnownOutput, type IndexItem, isPlain, type ItemForm, renderItem } from "./index-item.ts";

export interface ToolIndex {
  /** At most as long as asked for, with one line for each owner or tool. */
  readonly text: string;
  /** The notation that the text uses and its reader has to know. */
  readonly notation: {
    /** What is shown of the listed tools; "owners" when no tool is listed. */
    readonly form: "owners" | "names" | "inputs";
    /** Whether some tools are listed by their ids: `:` and the last part. */
    readonly ids: boolean;
    /** Whether outputs of some tools are shown. */
    readonly outputs: boolean;
    /** Whether tools are left out. */
    readonly partial: boolean;
  };
}

interface Listed {
  readonly item: IndexItem;
  text: string;
}

interface OwnerLine {
  /** Owner and number of tools. */
  readonly head: string;
  readonly count: number;
  readonly items: readonly IndexItem[];
  readonly listed: Listed[];
}

/** Most of the room that lines without any tool may take. */
const HEADS_SHARE = 0.7;
/**
 * If all names alone take more than this many times the room, only names are listed: most tools would have no place
 * otherwise.
 */
const NAMES_SHARE = 1.25;
/** Lengths of descriptions. The first length that fits for all tools is taken. */
const DOCS_CHARACTERS = [120, 80, 50];

export function renderToolIndex(
  catalog: Pick<Catalog, "entries" | "names">,
  maxCharacters: number,
): ToolIndex {
  const lines = toLines(catalog);
  const heads = lines.reduce((sum, { head, count }) => sum + head.length + tailOf(count).length + 1, 0);
  if (heads > maxCharacters * HEADS_SHARE) return renderOwners(lines, maxCharacters);
  const names = lines.flatMap(({ items }) => items).reduce((sum, { call }) => sum + call.length + 1, 0);
  const form = names > maxCharacters * NAMES_SHARE ? "name" : "fields";
  const left = list(lines, form, maxCharacters - heads);
  const isWhole = lines.every(({ count, listed }) => listed.length === count);
  const isLong = isWhole && form === "fields" && enrich(lines, left);
  const all = lines.flatMap(({ listed }) => listed);
  return {
    text: lines.map((line) => renderLine(line, isLong ? "\n" : " ")).join("\n"),
    notation: {
      form: form === "name" ? "names" : "inputs",
      ids: all.some(({ text }) => text.startsWith(":")),
      outputs: form !== "name" && all.some(({ item }) => item.hasOutput),
      partial: !isWhole,
    },
  };
}

/** One line for each owner, in the order of ids. */
function toLines({ entries, names }: Pick<Catalog, "entries" | "names">): OwnerLine[] {
  const nameOf = new Map([...names].map(([name, id]) => [id, name]));
  const groups = Map.groupBy(entries, ({ id }) => id.slice(0, id.lastIndexOf(":")));
  return Array.from(groups, ([owner, owned]) => {
    const items = owned.flatMap((entry): IndexItem[] => {
      const name = nameOf.get(entry.id);
      const call = name ?? entry.id.slice(owner.length);
      // A reader can make an id only from an owner that is shown unchanged.
      if (!isPlain(call) || (name === undefined && !isPlain(owner))) return [];
      return [{ entry, call, hasOutput: hasKnownOutput(entry) }];
    });
    const first = items.filter(({ hasOutput }) => hasOutput);
    return {
      head: `${toShownOwner(owner)} (${owned.length})`,
      count: owned.length,
      items: [...first, ...items.filter(({ hasOutput }) => !hasOutput)],
      listed: [],
    };
  });
}

const LONGEST_OWNER = 60;
/** Room for the count of owners that are left out. */
const OWNERS_TAIL = 40;

function toShownOwner(owner: string): string {
  if (isPlain(owner)) return owner;
  const plain = owner.slice(0, LONGEST_OWNER).replaceAll(/[^\p{L}\p{M}\p{N}_$.%/@#+~:-]/gu, "?");
  return owner.length > LONGEST_OWNER ? `${plain}…` : plain;
}

/** The text after the listed tools when so many more are left out. */
function tailOf(more: number): string {
  return more === 0 ? "" : ` …${more} more`;
}

/** Lists one tool of each owner after the other. Gives the room that is left. */
function list(lines: readonly OwnerLine[], form: ItemForm, room: number): number {
  let left = room;
  const listNext = ({ count, items, listed }: OwnerLine, hasOutput: boolean): boolean => {
    const item = items[listed.length];
    if (item?.hasOutput !== hasOutput) return false;
    const text = renderItem(item, form);
    const more = count - listed.length;
    const colon = listed.length === 0 ? 1 : 0;
    const cost = colon + 1 + text.length + tailOf(more - 1).length - tailOf(more).length;
    if (cost > left) return false;
    left -= cost;
    listed.push({ item, text });
    return true;
  };
  for (const hasOutput of [true, false]) {
    let open = lines;
    while (open.length > 0) open = open.filter((line) => listNext(line, hasOutput));
  }
  return left;
}

/** Shows more of the tools if there is room. True if every tool got its types, so that each can have a line. */
function enrich(lines: readonly OwnerLine[], room: number): boolean {
  const all = lines.flatMap(({ listed }) => listed);
  let left = room;
  const upgrade = (one: Listed, text: string): boolean => {
    if (text.length - one.text.length > left) return false;
    left -= text.length - one.text.length;
    one.text = text;
    return true;
  };
  const typed = all.filter((one) => upgrade(one, renderItem(one.item, "types")));
  if (typed.length < all.length) return false;
  for (const characters of DOCS_CHARACTERS) {
    const texts = all.map(({ item }) => renderItem(item, "docs", characters));
    const cost = texts.reduce((sum, text, index) => sum + text.length - (all[index]?.text.length ?? 0), 0);
    if (cost > left) continue;
    for (const [index, one] of all.entries()) one.text = texts[index] ?? one.text;
    break;
  }
  return true;
}

function renderLine({ head, count, listed }: OwnerLine, between: string): string {
  const texts = listed.map(({ text }) => `${between}${text}`).join("");
  return `${head}${listed.length === 0 ? "" : ":"}${texts}${tailOf(count - listed.length)}`;
}

/** The largest owners, and how many more there are. */
function renderOwners(lines: readonly OwnerLine[], maxCharacters: number): ToolIndex {
  const sorted = lines.toSorted((a, b) => b.count - a.count);
  const heads: string[] = [];
  let left = maxCharacters - OWNERS_TAIL;
  for (const { head } of sorted) {
    if ((left -= head.length + 2) < 0) break;
    heads.push(head);
  }
  const others = sorted.slice(heads.length);
  const tools = others.reduce((sum, { count }) => sum + count, 0);
  const tail = others.length === 0 ? [] : [`…${others.length} more with ${tools} tools`];
  return {
    text: [...heads, ...tail].join(", "),
    notation: { form: "owners", ids: false, outputs: false, partial: true },
  };
}
