import { expect, test } from "vitest";
import { HiddenTexts } from "../backend/hidden-texts.ts";
import { secretsOfVariables } from "./environment.ts";

test("plain variables are taken out of errors if they may be secrets, and out of all if their names say so", () => {
  const { certain, likely = [] } = secretsOfVariables(
    { S: "s1" },
    { LEVEL: "debug", PLACE: "12345678", API_TOKEN: "abcdefgh" },
  );
  const text = "debug s1 12345678 abcdefgh";
  expect(new HiddenTexts(certain).hide(text)).toBe("debug [S] 12345678 [API_TOKEN]");
  expect(new HiddenTexts([...certain, ...likely]).hide(text)).toBe("debug [S] [PLACE] [API_TOKEN]");
});
