/**
 * Runs on the host. What an MCP server answers, as data for programs.
 *
 * - Structured content is the data. One text is parsed if it is JSON, else it is the data; one image or sound is its bytes.
 * - Anything else keeps every block, in order, with bytes in place of their base64.
 */
import type {
  CallToolResult,
  ContentBlock,
  GetPromptResult,
  ReadResourceResult,
} from "@modelcontextprotocol/client";
import type { Json } from "codecell";
import { type BackendOutput, Bytes } from "../contract/connector.ts";

export function toolOutput({ content, structuredContent }: CallToolResult): BackendOutput {
  if (structuredContent === undefined) return { data: dataOf(content) };
  // Servers repeat structured content as text. What is no text would be lost without a word.
  const others = content.filter(({ type }) => type !== "text").map(describe);
  return { data: structuredContent, ...(others.length > 0 && { meta: { otherContent: others } }) };
}

export function resourceOutput({ contents }: ReadResourceResult): BackendOutput {
  return { data: { contents: contents.map(withBytes) } };
}

export function promptOutput({ description, messages }: GetPromptResult): BackendOutput {
  const shown = messages.map(({ role, content }) => ({ role, content: blockOf(content) }));
  return { data: { ...(description !== undefined && { description }), messages: shown } };
}

/** The texts of an answer, such as the words of an error. */
export function textOf(content: readonly ContentBlock[]): string {
  return content.flatMap((block) => (block.type === "text" ? [block.text] : [])).join("\n");
}

/** Only objects and lists: a text that is a number may be an identifier. */
export function parsedText(text: string): Json {
  if (!/^\s*[[{]/u.test(text)) return text;
  try {
    return JSON.parse(text) as Json;
  } catch {
    return text;
  }
}

function dataOf(content: readonly ContentBlock[]): unknown {
  const [first, ...others] = content;
  if (first !== undefined && others.length === 0) {
    if (first.type === "text") return parsedText(first.text);
    if (first.type === "image" || first.type === "audio") return bytesOf(first.data, first.mimeType);
  }
  return { content: content.map(blockOf) };
}

function blockOf(block: ContentBlock): unknown {
  switch (block.type) {
    case "image":
    case "audio":
      return { ...block, data: bytesOf(block.data, block.mimeType) };
    case "resource":
      return { ...block, resource: withBytes(block.resource) };
    case "text":
    case "resource_link":
      return block;
    default:
      return block satisfies never;
  }
}

function withBytes(resource: ReadResourceResult["contents"][number]): unknown {
  if (!("blob" in resource)) return resource;
  const filename = /[^/]+$/u.exec(resource.uri.split(/[?#]/u, 1)[0] ?? "")?.[0];
  return { ...resource, blob: bytesOf(resource.blob, resource.mimeType, filename) };
}

function bytesOf(base64: string, mediaType: string | undefined, filename?: string): Bytes {
  const about = {
    ...(mediaType !== undefined && { mediaType }),
    ...(filename !== undefined && { filename }),
  };
  return new Bytes(Buffer.from(base64, "base64"), about);
}

function describe(block: ContentBlock): Json {
  if (block.type !== "image" && block.type !== "audio") return { type: block.type };
  return { type: block.type, mimeType: block.mimeType, bytes: Buffer.byteLength(block.data, "base64") };
}
