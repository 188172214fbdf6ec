/** Which scopes a token needs so that every method can be called. Runs on a thread of its own. */

/** Each list has the scopes of a method, of which any one is enough. Those that open most methods come first. */
export function neededScopes(lists: readonly (readonly string[])[]): readonly string[] {
  const needed: string[] = [];
  let left = lists.filter((scopes) => scopes.length > 0).map((scopes) => new Set(scopes));
  while (left.length > 0) {
    const counts = new Map<string, number>();
    for (const scopes of left) for (const scope of scopes) counts.set(scope, (counts.get(scope) ?? 0) + 1);
    const [best] = [...counts].reduce((one, other) => (other[1] > one[1] ? other : one));
    needed.push(best);
    left = left.filter((scopes) => !scopes.has(best));
  }
  return needed;
}
