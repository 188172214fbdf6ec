import { describe, expect, test } from "vitest";
import { splitWords, toNameKey } from "./words.ts";

describe("splitWords", () => {
  test.each([
    ["snake_case-and.dots", ["snake", "case", "and", "dots"]],
    ["getHTTPResponse", ["get", "http", "response", "gethttpresponse"]],
    ["GitHub", ["git", "hub", "github"]],
    ["side1", ["side", "1", "side1"]],
    ["GET /movie/{movie_id}/keywords", ["get", "movie", "movie", "id", "keywords"]],
    ["Café Zürich", ["cafe", "zurich"]],
    ["поискФайлов", ["поиск", "фаилов", "поискфаилов"]],
    ["必应搜索", ["必应", "应搜", "搜索"]],
    ["", []],
    ["… 🙂 …", []],
  ])("%s", (text, expected) => {
    expect(splitWords(text)).toEqual(expected);
  });

  test("leaves out what is too long to be a word", () => {
    expect(splitWords(`key ${"k".repeat(41)}`)).toEqual(["key"]);
  });
});

test("names are compared without case, accents and separators", () => {
  const written = ["create_issue", "createIssue", "Create Issue", "create-issue", "créate.issue"];
  expect(new Set(written.map(toNameKey))).toEqual(new Set(["createissue"]));
});
