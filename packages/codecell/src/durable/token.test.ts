import { describe, expect, test } from "vitest";
import { resolveLimits } from "../contract/limits.ts";
import { LedgerRecorder } from "../ledger/ledger-recorder.ts";
import { resolveSealKeys } from "../seal/seal-keys.ts";
import { Sealer } from "../seal/seal.ts";
import type { Failure } from "../contract/failure.ts";
import type { RunPast } from "./run-past.ts";
import { TERMS } from "../../../../test/taken-run.ts";
import { TokenRuns } from "./token-runs.ts";
import { type OpenToken, Tokens } from "./token.ts";
import { Vault } from "../seal/vault.ts";

const sealKey = new Uint8Array(32).fill(7);
const tokens = new Tokens(new Vault({ sealKey }));
const sealer = new Sealer(resolveSealKeys({ sealKey }, {}).keys, false);

async function issue(scope = "", from: Tokens = tokens): Promise<{ readonly token: string }> {
  const recorder = new LedgerRecorder({
    runId: "r",
    source: "",
    language: "javascript",
    seed: "",
    clock: 0,
    limits: resolveLimits(),
    toolNames: [],
    features: {},
  });
  const issued = await from.issue(recorder, scope, "executor", waiting);
  if ("code" in issued) throw new Error(issued.message);
  return issued;
}

const waiting = {
  pending: new Map(),
  timers: [],
  executing: new Map(),
  abort: new AbortController(),
  resolutions: [],
  snapshot: undefined,
};
function open(token: string, scope = ""): OpenToken {
  const opened = tokens.open(token, scope);
  if ("code" in opened) throw new Error(opened.message);
  return opened;
}

/** Takes the run of a token. */
function claim(token: string, scope: string, from: Tokens = tokens): RunPast | Failure {
  const found = from.open(token, scope);
  const opened = "code" in found ? found : new TokenRuns(from).open(found, {});
  if ("code" in opened) return opened;
  opened.take(TERMS);
  return opened.past;
}

/** Seals as another version with the same key might. */
function sealed(header: unknown, content: Uint8Array, purpose = "token"): string {
  const text = typeof header === "string" ? header : JSON.stringify(header);
  return sealer.sealText({ header: Buffer.from(text), content }, purpose);
}

const future = { version: 1, id: "x", scope: "", expiresAt: Date.now() + 60_000 };

describe("tokens", () => {
  test("checks scope before expiry, expiry before use, and use before it decompresses the content", async () => {
    const unreadable = Buffer.alloc(100);
    const past = { ...future, expiresAt: 1, sections: [["run", 100]] };
    expect(claim(sealed(past, unreadable), "other")).toMatchObject({ code: "token_scope" });
    expect(claim(sealed(past, unreadable), "")).toMatchObject({ code: "token_expired" });
    const { token } = await issue();
    const id = open(token).peek()?.id;
    expect(claim(token, "")).toHaveProperty("recorder");
    const again = { ...future, id, sections: [["run", 100]] };
    expect(claim(sealed(again, unreadable), "")).toMatchObject({ code: "token_used" });
    const fresh = { ...future, sections: [["run", 100]] };
    expect(claim(sealed(fresh, unreadable), "")).toMatchObject({ code: "token_version" });
  });

  test.each([
    ["a later version", { ...future, version: 2, sections: [] }],
    ["no header", ""],
    ["a header of another shape", { hello: 1 }],
  ])("%s under the same key is refused as another version", (_name, header) => {
    expect(claim(sealed(header, Buffer.from("{}")), "")).toMatchObject({
      code: "token_version",
    });
  });

  test("bytes sealed for another purpose are not a token", () => {
    const header = { ...future, sections: [["run", 2]] };
    expect(claim(sealed(header, Buffer.from("{}"), "state of r"), "")).toMatchObject({
      code: "token_invalid",
    });
  });

  test("a run that is opened and not taken does not use the token up", async () => {
    const runs = new TokenRuns(tokens);
    const { token } = await issue();
    expect(runs.open(open(token), {})).toHaveProperty("past");
    const opened = await runs.openInTurns(open(token), {});
    if ("code" in opened) throw new Error(opened.message);
    // Meanwhile nobody else can take the run.
    expect(claim(token, "")).toMatchObject({ code: "token_used" });
    await opened.giveBack();
    expect(claim(token, "")).toHaveProperty("recorder");
  });

  test("refusing a token for its scope does not use it up", async () => {
    const { token } = await issue("ana");
    for (const scope of ["", "Ana", "ana ", "bo"]) {
      expect(claim(token, scope)).toMatchObject({ code: "token_scope" });
    }
    expect(claim(token, "ana")).toHaveProperty("recorder");
  });

  test("a token is used once in the whole process, by whichever host has the key", async () => {
    const { token } = await issue();
    expect(
      claim(token, "", new Tokens(new Vault({ sealKeys: [new Uint8Array(16).fill(1), sealKey] }))),
    ).toHaveProperty("recorder");
    expect(claim(token, "")).toMatchObject({ code: "token_used" });
  });

  test("an encrypted token does not show its scope", async () => {
    const encrypting = new Tokens(new Vault({ sealKey, encrypt: true }));
    const shown = (token: string): string => Buffer.from(token, "base64url").toString("latin1");
    expect(shown((await issue("tenant-1")).token)).toContain("tenant-1");
    const { token } = await issue("tenant-1", encrypting);
    expect(shown(token)).not.toContain("tenant-1");
    expect(claim(token, "tenant-1")).toHaveProperty("recorder");
  });

  test("encrypt is a boolean or nothing", () => {
    for (const encrypt of ["no", 0, null]) {
      expect(() => new Vault({ sealKey, encrypt: encrypt as never })).toThrow("boolean");
    }
  });

  test("a reference leads to a stored run, for its own scope and time only", async () => {
    const token = tokens.refer("run-1", { id: "s-1", expiresAt: Date.now() + 60_000 }, "ana");
    expect(tokens.referred(token, "ana")).toEqual({ id: "run-1", suspensionId: "s-1" });
    expect(tokens.referred(token, "bob")).toMatchObject({ code: "token_scope" });
    expect(tokens.referred(tokens.refer("run-1", { id: "s-1", expiresAt: 1 }, ""), "")).toMatchObject({
      code: "token_expired",
    });
    expect(claim(token, "ana")).toMatchObject({ code: "token_invalid" });
    for (const other of [(await issue()).token, "", "run-1"])
      expect(tokens.referred(other, "")).toBeUndefined();
  });

  test("a reference that was changed or has an unknown key is refused like a token", async () => {
    const token = tokens.refer("run-1", { id: "s-1", expiresAt: Date.now() + 60_000 }, "");
    const stranger = new Tokens(new Vault({ sealKey: new Uint8Array(16).fill(1) }));
    for (const other of [`${token}A`, "ref_", `ref_${(await issue()).token}`, `ref_${token}`]) {
      expect(tokens.referred(other, "")).toMatchObject({ code: "token_invalid" });
      expect(claim(other, "")).toMatchObject({ code: "token_invalid" });
    }
    expect(stranger.referred(token, "")).toMatchObject({ code: "token_key" });
  });

  test("a token of an unknown key says how keys are given, and whether the host's key is random", async () => {
    const { token } = await issue();
    const strangers = [
      new Tokens(new Vault({ sealKey: new Uint8Array(16).fill(1) })),
      new Tokens(new Vault({})),
    ];
    const [given, random] = strangers.map((stranger) => claim(token, "", stranger));
    expect(given).toMatchObject({
      code: "token_key",
      message: expect.stringContaining("sealKeys") as string,
    });
    expect(given).not.toMatchObject({ message: expect.stringContaining("random") as string });
    expect(random).toMatchObject({
      code: "token_key",
      message: expect.stringMatching(/a random one.*CODECELL_SEAL_KEY.*sealKey/u) as string,
    });
  });
});
