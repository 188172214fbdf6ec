/**
 * Redaction: takes the secrets of a connector out of what its backend says. Runs on the host.
 *
 * - A backend may repeat what it was sent, in an error or in an answer. Programs never see a secret all the same.
 */
const SHORTEST = 6;
const REDACTED = "[redacted]";

/** A function, so that nothing that prints a connector finds the secrets. */
export type Redact = (text: string) => string;

export function createRedact(secrets: Iterable<string>): Redact {
  const forms = new Set<string>();
  for (const secret of secrets) {
    // Shorter texts are no secrets, and are parts of others.
    if (secret.length < SHORTEST) continue;
    for (const form of [
      secret,
      JSON.stringify(secret).slice(1, -1),
      encodeURIComponent(secret.toWellFormed()),
    ]) {
      forms.add(form);
    }
  }
  // A secret may be a part of another one.
  const longestFirst = [...forms].sort((one, other) => other.length - one.length);
  return (text) => longestFirst.reduce((rest, form) => rest.replaceAll(form, REDACTED), text);
}
