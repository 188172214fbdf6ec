import { describe, expect, test } from "vitest";
import type { Failure } from "../contract/failure.ts";
import { resolveLimits } from "../contract/limits.ts";
import { LedgerRecorder } from "../ledger/ledger-recorder.ts";
import { resolveSealKeys } from "../seal/seal-keys.ts";
import { Sealer } from "../seal/seal.ts";
import type { SuspendedRun } from "./suspended-run.ts";
import { OpenToken, type Take, Tokens } from "./token.ts";
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
  resolutions: [],
  snapshot: undefined,
};
const pass = (run: SuspendedRun): SuspendedRun => run;

function claim(from: Tokens, token: string, scope: string, take: Take<SuspendedRun>): SuspendedRun | Failure {
  const opened = from.open(token, scope);
  return opened instanceof OpenToken ? opened.take(take) : opened;
}

/** Seals as another version with the same key might. */
function sealed(header: unknown, content: Uint8Array, purpose = "token"): string {
  const text = typeof header === "string" ? header : JSON.stringify(header);
  return sealer.sealText({ header: Buffer.from(text), content }, purpose);
}

const future = { version: 1, id: "x", scope: "", expiresAt: Date.now() + 60_000 };

describe("tokens", () => {
  test("scope is decided before expiry, expiry before use, use before the content is unpacked", async () => {
    const unreadable = Buffer.alloc(100);
    const past = { ...future, expiresAt: 1, sections: [["run", 100]] };
    expect(claim(tokens, sealed(past, unreadable), "other", pass)).toMatchObject({ code: "token_scope" });
    expect(claim(tokens, sealed(past, unreadable), "", pass)).toMatchObject({ code: "token_expired" });
    const { token } = await issue();
    const claimed = claim(tokens, token, "", pass);
    if ("code" in claimed) throw new Error(claimed.code);
    const again = { ...future, id: claimed.id, sections: [["run", 100]] };
    expect(claim(tokens, sealed(again, unreadable), "", pass)).toMatchObject({ code: "token_used" });
    const fresh = { ...future, sections: [["run", 100]] };
    expect(claim(tokens, sealed(fresh, unreadable), "", pass)).toMatchObject({ code: "token_version" });
  });

  test.each([
    ["a later version", { ...future, version: 2, sections: [] }],
    ["no header", ""],
    ["a header of another shape", { hello: 1 }],
  ])("%s under the same key is told as one", (_name, header) => {
    expect(claim(tokens, sealed(header, Buffer.from("{}")), "", pass)).toMatchObject({
      code: "token_version",
    });
  });

  test("bytes sealed for another place are no token", () => {
    const header = { ...future, sections: [["run", 2]] };
    expect(claim(tokens, sealed(header, Buffer.from("{}"), "state of r"), "", pass)).toMatchObject({
      code: "token_invalid",
    });
  });

  test("a check that throws does not use the token up", async () => {
    const { token } = await issue();
    const refuse = (): never => {
      throw new TypeError("no such call");
    };
    expect(() => claim(tokens, token, "", refuse)).toThrow("no such call");
    expect(claim(tokens, token, "", pass)).toHaveProperty("ledger");
  });

  test("one that fits in no scope stays usable in its own", async () => {
    const { token } = await issue("ana");
    for (const scope of ["", "Ana", "ana ", "bo"]) {
      expect(claim(tokens, token, scope, pass)).toMatchObject({ code: "token_scope" });
    }
    expect(claim(tokens, token, "ana", pass)).toMatchObject({ scope: "ana" });
  });

  test("it is used once in the whole process, whoever has the key", async () => {
    const { token } = await issue();
    expect(
      claim(new Tokens(new Vault({ sealKeys: [new Uint8Array(16).fill(1), sealKey] })), token, "", pass),
    ).toHaveProperty("ledger");
    expect(claim(tokens, token, "", pass)).toMatchObject({ code: "token_used" });
  });

  test("encrypted, it shows nobody whose it is", async () => {
    const encrypting = new Tokens(new Vault({ sealKey, encrypt: true }));
    const shown = (token: string): string => Buffer.from(token, "base64url").toString("latin1");
    expect(shown((await issue("tenant-1")).token)).toContain("tenant-1");
    const { token } = await issue("tenant-1", encrypting);
    expect(shown(token)).not.toContain("tenant-1");
    expect(claim(tokens, token, "tenant-1", pass)).toHaveProperty("ledger");
  });

  test("encrypt is a boolean or nothing", () => {
    for (const encrypt of ["no", 0, null]) {
      expect(() => new Vault({ sealKey, encrypt: encrypt as never })).toThrow("boolean");
    }
  });

  test("a reference leads to a stored run, and holds for its scope and time", async () => {
    const token = tokens.refer("run-1", { id: "s-1", expiresAt: Date.now() + 60_000 }, "ana");
    expect(tokens.referred(token, "ana")).toEqual({ id: "run-1", suspensionId: "s-1" });
    expect(tokens.referred(token, "bob")).toMatchObject({ code: "token_scope" });
    expect(tokens.referred(tokens.refer("run-1", { id: "s-1", expiresAt: 1 }, ""), "")).toMatchObject({
      code: "token_expired",
    });
    expect(claim(tokens, token, "ana", pass)).toMatchObject({ code: "token_invalid" });
    for (const other of [(await issue()).token, "", "run-1"])
      expect(tokens.referred(other, "")).toBeUndefined();
  });

  test("a reference that was changed or is of an unknown key is refused as a token is", async () => {
    const token = tokens.refer("run-1", { id: "s-1", expiresAt: Date.now() + 60_000 }, "");
    const stranger = new Tokens(new Vault({ sealKey: new Uint8Array(16).fill(1) }));
    for (const other of [`${token}A`, "ref_", `ref_${(await issue()).token}`, `ref_${token}`]) {
      expect(tokens.referred(other, "")).toMatchObject({ code: "token_invalid" });
      expect(claim(tokens, other, "", pass)).toMatchObject({ code: "token_invalid" });
    }
    expect(stranger.referred(token, "")).toMatchObject({ code: "token_key" });
  });

  test("one of an unknown key says how keys are given, and when they were random", async () => {
    const { token } = await issue();
    const strangers = [
      new Tokens(new Vault({ sealKey: new Uint8Array(16).fill(1) })),
      new Tokens(new Vault({})),
    ];
    const [given, random] = strangers.map((stranger) => claim(stranger, token, "", pass));
    expect(given).toMatchObject({
      code: "token_key",
      message: expect.stringContaining("sealKeys") as string,
    });
    expect(given).not.toMatchObject({ message: expect.stringContaining("random") as string });
    expect(random).toMatchObject({
      code: "token_key",
      message: expect.stringMatching(/at random.*CODECELL_SEAL_KEY.*sealKey/u) as string,
    });
  });
});
