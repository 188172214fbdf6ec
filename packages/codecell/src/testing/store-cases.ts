/** Runs in tests. What the tests of stores share. */
import { expect } from "vitest";
import type { Claim, Claimed, Lease, NewRun, Store, StoreErrorCode } from "../contract/store.ts";

/** Opens the same data for the same place, and empty data for a new place. */
export type OpenStore = (place: string) => Promise<Store>;

export const LONG: Lease = { owner: "owner", ms: 600_000 };
export const OVER: Lease = { owner: "owner", ms: 0 };
export const FUTURE = 8_000_000_000_000;

let places = 0;
export function newPlace(): string {
  return `place_${process.pid}_${++places}`;
}

export function bytes(...values: number[]): Uint8Array {
  return Uint8Array.from(values);
}

export function newRun(id: string, given: Partial<NewRun> = {}): NewRun {
  return { id, scope: "scope", expiresAt: FUTURE, state: bytes(1), ...given };
}

export async function claimed(
  store: Store,
  id: string,
  lease: Lease = LONG,
): Promise<Claimed & { status: "claimed" }> {
  const result = await store.claim(id, lease);
  if (result.status !== "claimed") throw new Error(`Run "${id}" is ${result.status}`);
  return result;
}

export async function refuses(promise: Promise<unknown>, code: StoreErrorCode): Promise<void> {
  await expect(promise).rejects.toMatchObject({ name: "StoreError", code });
}

export async function allRefused(store: Store, claim: Claim): Promise<void> {
  await refuses(store.append(claim, [bytes(9)]), "stale_claim");
  await refuses(store.append(claim, []), "stale_claim");
  await refuses(store.renew(claim, 1000), "stale_claim");
  await refuses(store.renew(claim, 1000, 1), "stale_claim");
  await refuses(store.saveSnapshot(claim, bytes(9)), "stale_claim");
  await refuses(store.loadSnapshot(claim), "stale_claim");
  await refuses(store.release(claim), "stale_claim");
  const given = { expiresAt: 1, absorbed: [0] };
  await refuses(store.release(claim, { state: bytes(9), ...given }), "stale_claim");
  await refuses(store.release(claim, { entry: bytes(9), snapshot: bytes(9), ...given }), "stale_claim");
  await refuses(store.release(claim, { ended: "failed", state: bytes(9), expiresAt: FUTURE }), "stale_claim");
  await refuses(store.delete(claim), "stale_claim");
}
