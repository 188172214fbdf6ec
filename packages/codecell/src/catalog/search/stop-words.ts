/**
 * Stop words: words that say nothing about which tool is meant, including those of polite requests. Runs anywhere.
 *
 * Verbs in the names of tools (get, find, show, make, use, …) are not stop words: the catalog decides their weight.
 */

const LISTED = `
a an the of to in on at by for with from into onto upon as and or but nor if then so than that this these those there
here is are was were be been being am do does did doing done have has had having it its itself i me my mine myself we
our ours us you your yours he him his she her hers they them their theirs what which who whom whose how when where why
whether can could would should will shall may might must ought not no just only also too very really quite some any all
both each every either neither about over
please want wants wanted need needs needed like help let lets give tell know thank thanks hello hi hey
s t d m re ve ll im id ive dont doesnt cant whats
`;

const STOP_WORDS: ReadonlySet<string> = new Set(LISTED.split(/\s+/u).filter((word) => word !== ""));

export function isStopWord(word: string): boolean {
  return STOP_WORDS.has(word);
}
