/** Stores that misbehave as machines and processes do, and functions that wait for them. */
import type { Store } from "codecell/store";

/** The store with some of its methods replaced. */
export function instead(store: Store, methods: Partial<Store>): Store {
  return { ...store, ...methods };
}

/** A store whose writes never settle after `die`, as if the process had died. */
export function mortal(store: Store): { readonly store: Store; readonly die: () => void } {
  let isDead = false;
  const orNever = <R>(change: () => Promise<R>): Promise<R> => (isDead ? new Promise(() => {}) : change());
  const methods: Partial<Store> = {
    append: (claim, entries) => orNever(() => store.append(claim, entries)),
    renew: (...given) => orNever(() => store.renew(...given)),
    attend: (...given) => orNever(() => store.attend(...given)),
    saveSnapshot: (...given) => orNever(() => store.saveSnapshot(...given)),
    release: (claim, next) => orNever(() => store.release(claim, next)),
    delete: (claim) => orNever(() => store.delete(claim)),
    post: (id, call, outcome) => orNever(() => store.post(id, call, outcome)),
  };
  return {
    store: instead(store, methods),
    die: () => {
      isDead = true;
    },
  };
}

export async function until(condition: () => boolean | Promise<boolean>): Promise<void> {
  while (!(await condition())) await new Promise(setImmediate);
}

/** Waits until no lease is in force. */
export async function untilClaimable(store: Store): Promise<void> {
  await until(async () => (await store.list({ claimable: true })).length === 1);
}
