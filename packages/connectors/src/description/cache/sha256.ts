/** The SHA-256 of bytes, in hexadecimal, computed beside the thread that asks. Runs on the host. */
export async function sha256(bytes: Uint8Array<ArrayBuffer>): Promise<string> {
  return Buffer.from(await crypto.subtle.digest("SHA-256", bytes)).toString("hex");
}
