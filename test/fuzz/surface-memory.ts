/**
 * Surfaces get the room for all they do and give. Their input exists before: the run's own text, or what another
 * surface made from it. The same holds for tokens as large as they may be.
 */
import { LedgerRecorder } from "../../packages/codecell/src/ledger/ledger-recorder.ts";
import { OpenToken, Tokens } from "../../packages/codecell/src/durable/token.ts";
import { Vault } from "../../packages/codecell/src/seal/vault.ts";
import { CALL_SURFACES } from "./call-surfaces.ts";
import type { RoomCase } from "./heap-room.ts";
import { ROOM } from "./memory-parts.ts";
import { nastyText, noise, unknownWords } from "./nasty-texts.ts";
import { KINDS, nastyJson } from "./nasty-values.ts";
import { Random } from "./random.ts";
import { schemaValues } from "./schema-values.ts";
import { LIMITS, REST, type Surface } from "./surface-parts.ts";
import { SURFACES } from "./surfaces.ts";
import { TRAJECTORY_SURFACES } from "./trajectory-surfaces.ts";

const MiB = 1024 * 1024;
/**
 * The kind that takes most while it is printed, and the kind that takes most as a value, which surfaces of calls
 * keep.
 */
const PRINTED = "empty texts";
const KEPT = "many fields";
/** The kind that takes most for the length of its text, of the values that a trajectory keeps. */
const DENSE = "small lists";

function kindsFor(surface: Surface): readonly string[] {
  // Filling a trajectory with many fields takes long, so only the first of its surfaces gets them.
  if (surface === TRAJECTORY_SURFACES[0]) return [KEPT, DENSE];
  if (TRAJECTORY_SURFACES.includes(surface)) return [DENSE];
  return CALL_SURFACES.includes(surface) ? [PRINTED, KEPT] : [PRINTED];
}

function surfaceCases(surface: Surface): RoomCase[] {
  const { name, given, most, prepare, own = 0 } = surface;
  const room = ROOM + own;
  if (given === "json") {
    return kindsFor(surface).map((kind) => ({
      name: `${name}, ${kind}`,
      room,
      prepare: async () => orRefused(await prepare(nastyJson(new Random(1), most, kind))),
    }));
  }
  const make = (): string => (given === "words" ? unknownWords : nastyText)(new Random(most), most);
  const lines = (): string =>
    make()
      .slice(0, most / 2)
      .replaceAll(/[^]{17}/gu, "$&\n");
  return [
    { name, room, prepare: async () => orRefused(await prepare(given === "lines" ? lines() : make())) },
  ];
}

/** Random schemas with a value of the most fields. */
const SCHEMA_CASES: readonly RoomCase[] = [0, 1, 2, 3, 4].map((at) => {
  const { title, prepare } = schemaValues.caseOf(KINDS.indexOf(KEPT) + at * KINDS.length);
  return { name: title, room: ROOM, prepare: async () => orRefused(await prepare()) };
});

/** Work may refuse its input. */
function orRefused(work: () => unknown): () => Promise<unknown> {
  return async () => {
    try {
      return await work();
    } catch (error) {
      // An error in the work itself is no refusal.
      if (error instanceof TypeError || error instanceof ReferenceError) throw error;
      return error;
    }
  };
}

/** A ledger as large as a suspended run may be, in inputs or in outputs. */
function fullRecorder(where: "inputs" | "outputs"): LedgerRecorder {
  const texts = Array.from({ length: 15 }, (_, at) => JSON.stringify(noise(at, MiB - 8)));
  return new LedgerRecorder(
    {
      runId: "r",
      source: "",
      language: "javascript",
      seed: "",
      clock: 0,
      limits: LIMITS,
      toolNames: [],
      features: {},
    },
    {
      calls: texts.map((text) => ({ tool: "t", input: where === "inputs" ? text : "0" })),
      deliveries:
        where === "inputs"
          ? []
          : texts.map((output, call) => ({ clock: 1, items: [{ kind: "output", call, output }] })),
    },
  );
}

const tokens = new Tokens(new Vault({ sealKey: new Uint8Array(32).fill(7), encrypt: true }));

/** The token; throws if none was issued. */
function issued(given: Awaited<ReturnType<Tokens["issue"]>>): string {
  if ("code" in given) throw new Error(given.message);
  return given.token;
}

async function fullToken(where: "inputs" | "outputs"): Promise<string> {
  return issued(await tokens.issue(fullRecorder(where), "", "e", REST));
}

/** Two bytes a character, for the texts of the ledger. */
const FULL_OWN = 2 * 15 * MiB;

const TOKEN_CASES: readonly RoomCase[] = (["inputs", "outputs"] as const).flatMap((where) => [
  {
    name: `a token is made of 15 MiB of ${where}`,
    room: ROOM,
    prepare: () => {
      const recorder = fullRecorder(where);
      return async () => issued(await tokens.issue(recorder, "", "e", REST));
    },
  },
  {
    name: `a token of 15 MiB of ${where} is opened`,
    room: ROOM + FULL_OWN,
    prepare: async () => {
      const token = await fullToken(where);
      return async () => {
        const opened = tokens.open(token, "");
        if (!(opened instanceof OpenToken)) throw new Error(opened.message);
        const run = await opened.unpack();
        if (run === undefined) throw new Error("The token could not be unpacked");
        return run;
      };
    },
  },
]);

export const CASES: readonly RoomCase[] = [
  ...SURFACES.flatMap(surfaceCases),
  ...SCHEMA_CASES,
  ...TOKEN_CASES,
];
