/**
 * Words: what is told of a description, without the texts that nobody may read. Runs on a thread of its own.
 *
 * - They are taken out before a text is cut or becomes a name: afterwards the part of one would be unknown.
 * - What requests are made of is not told, and stays as it is.
 */
import { hideAtOnce } from "../backend/hide-in-data.ts";
import { type HiddenText, HiddenTexts } from "../backend/hidden-texts.ts";

export class Words {
  readonly #hidden: HiddenTexts;

  constructor(hidden: readonly HiddenText[]) {
    this.#hidden = new HiddenTexts(hidden);
  }

  told(text: string): string {
    return this.#hidden.hide(text);
  }

  /** With so many characters at most, and `end` behind a text that had more. */
  cut(text: string, most: number, end = ""): string {
    const told = this.told(text);
    return told.length > most ? `${told.slice(0, most).toWellFormed()}${end}` : told.toWellFormed();
  }

  /** In all texts and names of the data. */
  data<T>(data: T): T {
    return hideAtOnce(data, this.#hidden);
  }
}
