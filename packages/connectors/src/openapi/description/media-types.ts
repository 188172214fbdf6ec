/** Which of several media types a request is sent in, and an answer is asked for. Runs anywhere. */
import { isJsonType, isTextType, parseMediaType } from "../../web/read-response.ts";
import type { BodyPlan } from "./messages.ts";
import type { Node } from "../../description/schemas.ts";
import { isRecord } from "../../web/text.ts";

export interface Media {
  readonly type: string;
  readonly object: Node;
}

export function mediaOf(content: unknown): readonly Media[] {
  if (!isRecord(content)) return [];
  return Object.entries(content).map(([type, object]) => ({ type, object: isRecord(object) ? object : {} }));
}

export function formatOf(type: string): BodyPlan["format"] {
  const { essence } = parseMediaType(type);
  if (isJsonType(essence)) return "json";
  if (essence === "application/x-www-form-urlencoded") return "form";
  return essence === "multipart/form-data" || essence === "multipart/*" ? "multipart" : "raw";
}

/** JSON before forms before all else; of several the first. */
export function chooseBody(media: readonly Media[], hasBytes: (media: Media) => boolean): Media | undefined {
  const rank = (one: Media): number => {
    const format = formatOf(one.type);
    if (format === "json") return parseMediaType(one.type).essence === "application/json" ? 0 : 1;
    if (format === "form") return hasBytes(one) ? 4 : 2;
    if (format === "multipart") return 3;
    return isTextType(parseMediaType(one.type).essence) ? 6 : 5;
  };
  return [...media].sort((one, other) => rank(one) - rank(other))[0];
}

export function jsonMedia(media: readonly Media[]): Media | undefined {
  const json = media.filter((one) => isJsonType(parseMediaType(one.type).essence));
  return json.find((one) => parseMediaType(one.type).essence === "application/json") ?? json[0];
}

export function isTextMedia(type: string): boolean {
  return isTextType(parseMediaType(type).essence);
}
