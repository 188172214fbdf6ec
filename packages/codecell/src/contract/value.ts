/** What can cross the boundary between host and guest. */
export type Json = null | boolean | number | string | readonly Json[] | { readonly [key: string]: Json };

export type JsonRecord = Readonly<Record<string, Json>>;
