/** What cases of memory share: the room beyond a run's own memory, and what programs hand to tools. */
const MB = 1_000_000;
export const ROOM: number = 64 * MB;

/** Collecting takes long where there is hardly any room, and longer on a busy machine. */
export const PATIENCE_MS = 600_000;

/** As many records as an input may have: a text of 200 KB that takes 4 MB as a value. */
export const RECORDS = "const records = Array.from({ length: 65000 }, () => ({}));";
export const RECORDS_TEXT: number = 0.2 * MB;
export const RECORDS_VALUE: number = 5 * MB;

/** Texts of inputs, two bytes a character. */
export const LONG_TEXT = 'const text = "x".repeat(1_000_000) + "必";';
export const LONG_TEXT_OWN: number = 2 * MB;
