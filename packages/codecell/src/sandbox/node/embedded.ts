/**
 * Embedded: worker and engine inside this library's own code, for where their files are not.
 *
 * - Nothing of it is loaded before it is asked for. Bundlers follow the import and take it along.
 * - `embedded.generated.ts` is made by every build, check and test run (`scripts/build-embedded.ts`); it is not checked in.
 */
import { promisify } from "node:util";
import { brotliDecompress } from "node:zlib";

async function unpack(packed: string): Promise<Buffer> {
  return await promisify(brotliDecompress)(Buffer.from(packed, "base64"));
}

/**
 * The worker with all it needs as the text of one script: written to a file, it can be a host's `workerUrl`. Runs as an
 * ES module and as CommonJS.
 */
export async function loadWorkerText(): Promise<string> {
  const { EMBEDDED_WORKER } = await import("./embedded.generated.ts");
  return (await unpack(EMBEDDED_WORKER)).toString("utf8");
}

/** What `quickjs-wasi/quickjs.wasm` holds. */
export async function loadEmbeddedEngine(): Promise<Uint8Array> {
  const { EMBEDDED_ENGINE } = await import("./embedded.generated.ts");
  return await unpack(EMBEDDED_ENGINE);
}
