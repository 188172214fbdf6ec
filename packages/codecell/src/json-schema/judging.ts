/**
 * Judging: the state of judging one value by one schema, and the bound on its cost. Runs anywhere.
 *
 * - Work is counted in steps, never in time: the same value and the same schema always end the same way.
 * - The first pass stops at the first problem and records none. A second pass, which explains, collects a few problems.
 */

/** Says whether a value fits a compiled part of a schema. `seen`, if given, collects what has been evaluated. */
export type Rule = (value: unknown, judging: Judging, seen: Evaluated | undefined) => boolean;

export interface JudgedProblem {
  readonly path: readonly (string | number)[];
  readonly text: string;
  /**
   * Whether the problem shows that another alternative was meant (a type, a constant), rather than a mistake inside
   * this one.
   */
  readonly isTag: boolean;
}

/** Judging would have cost more steps than allowed. */
export class OutOfSteps extends Error {}

/** Judging needs a regular expression that is not proven cheap, which must not run on this thread. */
export class NotHere extends Error {}

/** The schema cannot be used. */
export class SchemaFault extends Error {}

/**
 * The resource in which references are resolved. The resources entered on the way decide what dynamic references mean.
 */
export interface Scope {
  readonly dynamicAnchors: ReadonlyMap<string, unknown>;
  readonly isRecursive: boolean;
  readonly root: unknown;
}

/** The most problems that are collected inside one alternative. */
const MOST_PROBLEMS = 4;
/** The most answers that are remembered (some megabytes). Beyond this, only the steps bound the work. */
const MOST_KEPT = 65_536;

export class Judging {
  steps: number;
  /** Whether regular expressions without a proven bound may run. */
  readonly mayBeSlow: boolean;
  readonly scopes: Scope[] = [];
  /** The path to the value that is judged now; undefined if no problems are wanted. */
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

  /** Whether a rule that has failed may stop. */
  get isDone(): boolean {
    return this.path === undefined || this.problems.length >= MOST_PROBLEMS;
  }

  /** Records a problem and returns false, the answer of a failed rule. */
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

  /** Runs a rule without recording problems: for `not`, `if`, and the items that `contains` counts. */
  quietly(rule: Rule, value: unknown, seen: Evaluated | undefined): boolean {
    const { path } = this;
    this.path = undefined;
    try {
      return rule(value, this, seen);
    } finally {
      this.path = path;
    }
  }

  /** Runs a rule on a value once, and gives the remembered answer afterwards. */
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

  /** Adds what an alternative has evaluated. */
  gather(seen: Evaluated | undefined, branch: Evaluated | undefined): void {
    if (seen === undefined || branch === undefined) return;
    this.spend(branch.size);
    seen.add(branch);
  }

  /** Runs a rule with its own list of problems and returns that list; it is empty if the value fits. */
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

/** The members and items of one value that some keyword has evaluated. */
export class Evaluated {
  allMembers = false;
  allItems = false;
  /** All items before this index are evaluated. */
  items = 0;
  readonly members: Set<string> = new Set();
  readonly single: Set<number> = new Set();

  /** The steps that adding this to another costs. */
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
