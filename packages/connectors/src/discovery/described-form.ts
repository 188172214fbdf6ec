/** Of what form a Discovery document is when it comes from a cache. Runs on the host. */
import {
  type EntryForm,
  isAbsentOr,
  isPartText,
  isPlainOfAll,
  isText,
  isToolText,
} from "../description/cache/entry-form.ts";
import type { DescribedDiscovery } from "./description/messages.ts";

export const DESCRIBED_FORM: EntryForm<DescribedDiscovery> = {
  isPlain: (plain) =>
    isPlainOfAll(plain) && isAbsentOr(isText, plain["rootUrl"]) && isText(plain["servicePath"]),
  lists: { methods: isToolText, parts: isPartText, problems: isText, scopes: isText },
};
