/** Programs that fetch, of a local server: the same for both implementations. */
import type { Case, Kit } from "./outcome.ts";

const policy =
  (more: object = {}) =>
  ({ origin }: Kit): object => ({ fetchPolicy: { allowedOrigins: [origin], ...more } });
const fetching = (name: string, does: string, options: Case["options"] = policy()): Case => ({
  name,
  does,
  options,
});
const fetchCaught = (url: string, init = "{}"): string =>
  `try { const r = await fetch(${JSON.stringify(url)}, ${init}); return r.status } catch (e) { return [e.name, e.code] }`;

export const FETCH: readonly Case[] = [
  fetching(
    "a response",
    "const r = await fetch('ORIGIN/json'); return [r.ok, r.status, r.statusText, r.url, r.headers.get('X-Kind'), [...r.headers.entries()].some(([k]) => k === 'x-kind'), await r.json()]",
  ),
  fetching("a response as text", "return await (await fetch('ORIGIN/json')).text()"),
  fetching("bytes", "return [...new Uint8Array(await (await fetch('ORIGIN/json')).arrayBuffer())].length"),
  fetching("not found", "const r = await fetch('ORIGIN/missing'); return [r.ok, r.status, await r.text()]"),
  fetching(
    "a body",
    "return await (await fetch('ORIGIN/echo', { method: 'POST', body: 'hello', headers: { 'x-own': 'mine' } })).text()",
    policy({ allowedMethods: ["POST"] }),
  ),
  fetching("a method that is not allowed", "return await fetch('ORIGIN/json', { method: 'POST' })"),
  fetching("a method that is not allowed, caught", fetchCaught("ORIGIN/json", "{ method: 'POST' }")),
  fetching("HEAD is allowed", fetchCaught("ORIGIN/json", "{ method: 'HEAD' }")),
  fetching("another origin", fetchCaught("http://127.0.0.1:1/")),
  fetching("another origin, not caught", "return await fetch('http://127.0.0.1:1/')"),
  fetching("no web address", fetchCaught("file:///etc/passwd")),
  fetching("no address at all", fetchCaught("not a url")),
  fetching("an address with a password", fetchCaught("http://a:b@127.0.0.1:1/")),
  fetching("a prefix", fetchCaught("ORIGIN/api/x"), ({ origin }) => ({
    fetchPolicy: { allowedUrlPrefixes: [`${origin}/api`] },
  })),
  fetching("beside a prefix", fetchCaught("ORIGIN/api-other"), ({ origin }) => ({
    fetchPolicy: { allowedUrlPrefixes: [`${origin}/api`] },
  })),
  fetching("a prefix with a query", fetchCaught("ORIGIN/api"), ({ origin }) => ({
    fetchPolicy: { allowedUrlPrefixes: [`${origin}/api?a=1`] },
  })),
  fetching("a policy that allows nothing", fetchCaught("ORIGIN/json"), { fetchPolicy: {} }),
  fetching(
    "a redirect that is not followed",
    "const r = await fetch('ORIGIN/redirect'); return [r.status, r.headers.get('location')]",
  ),
  fetching(
    "a redirect that is followed",
    "const r = await fetch('ORIGIN/redirect'); return [r.status, r.url]",
    policy({ allowRedirects: true }),
  ),
  fetching("a redirect to elsewhere", fetchCaught("ORIGIN/away"), policy({ allowRedirects: true })),
  fetching(
    "redirects without an end",
    fetchCaught("ORIGIN/loop"),
    policy({ allowRedirects: true, maxRedirects: 3 }),
  ),
  fetching("a response that is too large", fetchCaught("ORIGIN/large"), policy({ maxResponseBytes: 1000 })),
  fetching("a fetch of the host's own", "return await (await fetch('ORIGIN/json')).text()", ({ origin }) => ({
    fetchPolicy: { fetch: async () => new Response("own"), allowedOrigins: [origin] },
  })),
  fetching("a fetch of the host's own that fails", fetchCaught("ORIGIN/json"), ({ origin }) => ({
    fetchPolicy: { fetch: async () => Promise.reject(new TypeError("down")), allowedOrigins: [origin] },
  })),
  fetching("a fetch that nobody awaits", "fetch('ORIGIN/json'); return 1"),
  fetching(
    "calls and fetches",
    "await tools.echo({ a: 1 }); await fetch('ORIGIN/json'); await tools.echo({ a: 2 }); return 1",
  ),
];
