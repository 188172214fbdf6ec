/**
 * Runs on the host. Places: where a login may lead.
 *
 * - What is not this machine's own has to be encrypted. Only a server of this machine leads to this machine, and only a server
 *   of a private network, or the operator, to an address of one.
 * - Names are not looked up: a name may lead to any address, and to what it leads is encrypted under that name.
 */
import { BlockList, isIP } from "node:net";

const HERE = listOf(["127.0.0.0", 8], ["0.0.0.0", 8], ["::1", 128], ["::", 128]);

const PRIVATE = listOf(
  ["10.0.0.0", 8],
  ["100.64.0.0", 10],
  ["169.254.0.0", 16],
  ["172.16.0.0", 12],
  ["192.168.0.0", 16],
  ["fc00::", 7],
  ["fe80::", 10],
);

/** What the operator configured. */
export interface Configured {
  readonly server: URL;
  readonly issuer: string | undefined;
}

export function isAllowed(place: string, { server, issuer }: Configured): boolean {
  const url = URL.parse(place);
  if (url === null) return false;
  const kind = kindOf(url);
  if (kind === "here") return kindOf(server) === "here" && /^https?:$/u.test(url.protocol);
  if (url.protocol !== "https:") return false;
  if (kind === "elsewhere") return true;
  const named = issuer === undefined ? null : URL.parse(issuer);
  return [server, named].some((one) => one !== null && kindOf(one) === "private");
}

function kindOf({ hostname }: URL): "here" | "private" | "elsewhere" {
  const name = hostname.replace(/\.$/u, "");
  if (name === "localhost" || name.endsWith(".localhost")) return "here";
  const address = name.replace(/^\[|\]$/gu, "");
  const version = isIP(address);
  if (version === 0) return "elsewhere";
  const family = version === 4 ? "ipv4" : "ipv6";
  // An address of version 4 that is written as one of version 6 is found too.
  if (HERE.check(address, family)) return "here";
  return PRIVATE.check(address, family) ? "private" : "elsewhere";
}

function listOf(...subnets: readonly (readonly [net: string, prefix: number])[]): BlockList {
  const list = new BlockList();
  for (const [net, prefix] of subnets) list.addSubnet(net, prefix, isIP(net) === 4 ? "ipv4" : "ipv6");
  return list;
}
