/** ShapeMemory: keeps what was learnt about tools, as texts by key. For how long is its own affair. */
export interface ShapeMemory {
  remember(key: string, text: string): Promise<void>;
  recall(key: string): Promise<string | undefined>;
}
