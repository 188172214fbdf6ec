/**
 * Judging: one value against one schema, and what that may cost.
 *
 * - Work is counted in steps, never in time: the same value against the same schema always ends the same way.
 * - Problems are collected only while explaining, and only a few: the first time it stops at the first one.
 */

/** Whether a value satisfies what was compiled. `seen` gathers what has been evaluated, where somebody asks for that. */
export type Rule = (value: unknown, judging: Judging, seen: Evaluated | undefined) => boolean;

export interface JudgedProblem {
  readonly path: readonly (string | number)[];
  readonly text: string;
  /** Says which alternative is meant rather than what is wrong inside it. */
  readonly isTag: boolean;
}

/** It was given up: it would have cost more steps than there are. */
export class OutOfSteps extends Error {}

/** It needs what may not be done on this thread: a regular expression that nobody has proven cheap. */
export class NotHere extends Error {}

/** The schema itself cannot be used. */
export class SchemaFault extends Error {}

/** Where a schema's references are resolved; those it went through decide about dynamic ones. */
export interface Scope {
  readonly dynamicAnchors: ReadonlyMap<string, unknown>;
  readonly isRecursive: boolean;
  readonly root: unknown;
}

/** How many problems are looked for inside one alternative. */
const MOST_PROBLEMS = 4;
/** Answers remembered, some megabytes; beyond them there are only the steps. */
const MOST_KEPT = 65_536;

export class Judging {
  steps: number;
  /** Whether regular expressions that may take for ever are executed all the same. */
  readonly mayBeSlow: boolean;
  readonly scopes: Scope[] = [];
  /** Where the value at hand lies; undefined unless problems are wanted. */
  path: (string | number)[] | undefined;
  problems: JudgedProblem[] = [];
  readonly #answers = new Map<Rule, Map<object, boolean>>();
  #kept = 0;

  constructor(steps: number, mayBeSlow: boolean, isExplaining: boolean) {
    this.steps = steps;
    this.mayBeSlow = mayBeSlow;
    this.path = isExplaining ? [] : undefined;
  }

  spend(steps: number): void {
    this.steps -= steps;
    if (this.steps < 0) throw new OutOfSteps();
  }

  /** Whether what has failed may as well stop. */
  get isDone(): boolean {
    return this.path === undefined || this.problems.length >= MOST_PROBLEMS;
  }

  /** Always false, as the answer of a rule. */
  fail(text: string, isTag = false): false {
    if (!this.isDone) this.problems.push({ path: [...(this.path ?? [])], text, isTag });
    return false;
  }

  /** Runs a rule on a part of the value. */
  within(key: string | number, part: unknown, rule: Rule): boolean {
    if (this.path === undefined) return rule(part, this, undefined);
    this.path.push(key);
    const fits = rule(part, this, undefined);
    this.path.pop();
    return fits;
  }

  /** Runs a rule whose problems are nobody's business: that of `not`, of `if`, of an item that `contains` counts. */
  quietly(rule: Rule, value: unknown, seen: Evaluated | undefined): boolean {
    const { path } = this;
    this.path = undefined;
    try {
      return rule(value, this, seen);
    } finally {
      this.path = path;
    }
  }

  /** Runs a rule on a value that it has not seen before; says again what it said otherwise. */
  once(rule: Rule, value: object): boolean {
    if (this.path !== undefined) return rule(value, this, undefined);
    let answers = this.#answers.get(rule);
    if (answers === undefined) this.#answers.set(rule, (answers = new Map()));
    const known = answers.get(value);
    if (known !== undefined) return known;
    const fits = rule(value, this, undefined);
    if (++this.#kept <= MOST_KEPT) answers.set(value, fits);
    return fits;
  }

  /** Adds what one alternative has evaluated. */
  gather(seen: Evaluated | undefined, branch: Evaluated | undefined): void {
    if (seen === undefined || branch === undefined) return;
    this.spend(branch.size);
    seen.add(branch);
  }

  /** Runs a rule with a list of problems of its own, which is returned: none for a value that fits. */
  apart(rule: Rule, value: unknown): readonly JudgedProblem[] {
    const { problems } = this;
    this.problems = [];
    try {
      return rule(value, this, undefined) ? [] : this.problems;
    } finally {
      this.problems = problems;
    }
  }
}

/** Which members and items of one value have been evaluated by some keyword. */
export class Evaluated {
  allMembers = false;
  allItems = false;
  /** Items before this one. */
  items = 0;
  readonly members: Set<string> = new Set();
  readonly single: Set<number> = new Set();

  /** What it costs to add it to another. */
  get size(): number {
    return this.members.size + this.single.size;
  }

  add({ allMembers, allItems, items, members, single }: Evaluated): void {
    this.allMembers ||= allMembers;
    this.allItems ||= allItems;
    this.items = Math.max(this.items, items);
    for (const name of members) this.members.add(name);
    for (const index of single) this.single.add(index);
  }
}
