/**
 * Making: makes objects of classes that a program cannot construct, or only in another way. Runs inside the guest.
 */
let isMaking = false;

export function make<T>(build: () => T): T {
  isMaking = true;
  try {
    return build();
  } finally {
    isMaking = false;
  }
}

/** Asked by a constructor: whether `make` called it. What the constructor calls is not made so. */
export function isMade(): boolean {
  const was = isMaking;
  isMaking = false;
  return was;
}
