/** What the thread that reads a Discovery document is told, and what it tells the host. Both sides. */
import type { DescribedApi, ReadingSetup, ToolText } from "../../description/messages.ts";

export interface DiscoverySetup extends ReadingSetup {
  /** Patterns of methods; all methods if there is none. */
  readonly include: readonly string[];
  readonly exclude: readonly string[];
  /** Parameters of a query that credentials set: no argument can. */
  readonly ownedQuery: readonly string[];
}

export interface DescribedDiscovery extends DescribedApi {
  /** Where the API is, if the document says so: an origin, perhaps with a path. */
  readonly rootUrl: string | undefined;
  /** What is between the root and the paths of all methods, without a slash at its beginning. */
  readonly servicePath: string;
  readonly methods: readonly ToolText[];
  /** A token with these can call every method. */
  readonly scopes: readonly string[];
}

export interface PlacedParameter {
  /** The property of the tool's input. */
  readonly input: string;
  /** The name in the request. */
  readonly name: string;
  readonly in: "path" | "query";
}

export interface MediaPlan {
  /** The properties of the input with the bytes, and with their media type. */
  readonly input: string;
  readonly typeInput: string;
  /** Below the root. */
  readonly path: string;
  /** Whether a body can go with the bytes. */
  readonly takesBody: boolean;
  /** Media types and ranges of them, such as `image/*`. */
  readonly accept: readonly string[];
  readonly maxBytes?: number;
}

/** All that is needed to make a method's request. */
export interface MethodPlan {
  /** A template below the root. */
  readonly path: string;
  readonly parameters: readonly PlacedParameter[];
  /** What the answer is: JSON, or bytes. */
  readonly alt?: "json" | "media";
  /** The property of the input that is the body, as JSON. */
  readonly body?: string;
  readonly media?: MediaPlan;
  /** Whether bodies and answers are in `{ data }`. */
  readonly isWrapped: boolean;
  readonly apiVersion?: string;
}
