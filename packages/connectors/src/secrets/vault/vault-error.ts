/** Runs on the host. VaultError: why a vault did not do what was asked. Its message has neither a value nor a path. */
export type VaultErrorCode =
  /** A name, a value or a connector's id that no vault takes. */
  | "INVALID"
  | "NOT_FOUND"
  /** The connector was not granted the secret. */
  | "NOT_GRANTED"
  /** There is no key, or another one than the vault's, or others can read it. */
  | "KEY"
  /** The file is no vault, or is not as it was written. */
  | "DAMAGED"
  /** The file is a link, or cannot be read or written. */
  | "FILE"
  /** Another process has been writing for too long. */
  | "BUSY";

export class VaultError extends Error {
  override readonly name = "VaultError";
  readonly code: VaultErrorCode;

  constructor(code: VaultErrorCode, message: string, options: ErrorOptions = {}) {
    super(message, options);
    this.code = code;
  }
}
