/**
 * Embedded: the worker and the engine inside this library's own code, for installations without their files. Runs on
 * the host.
 *
 * - Nothing is loaded before it is needed. Bundlers follow the import and include it.
 * - Every build, check and test run makes `embedded.generated.ts` (`scripts/build-embedded.ts`); it is not checked in.
 */
import { promisify } from "node:util";
import { brotliDecompress } from "node:zlib";

async function unpack(packed: string): Promise<Buffer> {
  return await promisify(brotliDecompress)(Buffer.from(packed, "base64"));
}

/**
 * The worker with everything it needs, as the text of one script. Write it to a file to use the file as a host's
 * `workerUrl`. It runs as an ES module and as CommonJS.
 */
export async function loadWorkerText(): Promise<string> {
  const { EMBEDDED_WORKER } = await import("./embedded.generated.ts");
  return (await unpack(EMBEDDED_WORKER)).toString("utf8");
}

/** The bytes of `quickjs-wasi/quickjs.wasm`. */
export async function loadEmbeddedEngine(): Promise<Uint8Array> {
  const { EMBEDDED_ENGINE } = await import("./embedded.generated.ts");
  return await unpack(EMBEDDED_ENGINE);
}
