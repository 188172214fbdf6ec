/**
 * Runs anywhere. Refuses options whose names nobody reads.
 *
 * - Some options are policies: `authorize`, `approve`, `encrypt`. If a misspelt one were ignored, everything would be
 *   allowed, and nobody would hear of it.
 * - The list of names is complete by its type: an option without its name here does not compile.
 */

/** All names of the options of a type. */
export type OptionNames<Options> = { readonly [Name in keyof Required<Options>]: true };

/**
 * `action` is what the options are for. `of` is the option that holds these options: `approval`. A name whose value is
 * undefined does no harm.
 */
export function assertNames(options: object, names: object, action: string, of = ""): void {
  for (const name of Object.keys(options)) {
    if (Object.hasOwn(names, name) || Reflect.get(options, name) === undefined) continue;
    const shown = of === "" ? name : `${of}.${name}`;
    throw new TypeError(
      `Cannot ${action}: no such option "${shown.slice(0, 80)}", known are ${Object.keys(names).join(", ")}`,
    );
  }
}
