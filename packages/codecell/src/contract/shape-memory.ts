/** Keeps what was learnt about tools, as texts by key. It decides for how long. */
export interface ShapeMemory {
  remember(key: string, text: string): Promise<void>;
  recall(key: string): Promise<string | undefined>;
}
