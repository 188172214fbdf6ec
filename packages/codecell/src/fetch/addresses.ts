/**
 * Runs on the host. Tells addresses of the public internet from all others.
 *
 * - Asks Node.js for its modules when they are needed and imports none, so a page can load this file.
 *
 * For IPv6 this is an allow list: global unicast, and IPv4 behind the well-known prefix of NAT64. An address that
 * carries an IPv4 address in another form (mapped, compatible, 6to4, Teredo) is never public.
 */
import type { BlockList } from "node:net";

/** Ranges of IPv4 outside the public internet: address and length of the prefix. */
const NOT_PUBLIC_IPV4: readonly (readonly [string, number])[] = [
  ["0.0.0.0", 8], // this network
  ["10.0.0.0", 8], // private
  ["100.64.0.0", 10], // carriers' NAT
  ["127.0.0.0", 8], // loopback
  ["168.63.129.16", 32], // Azure's own services, for its machines only
  ["169.254.0.0", 16], // link-local, metadata of clouds
  ["172.16.0.0", 12], // private
  ["192.0.0.0", 24], // protocols
  ["192.0.2.0", 24], // documentation
  ["192.88.99.0", 24], // relays of 6to4
  ["192.168.0.0", 16], // private
  ["198.18.0.0", 15], // benchmarks
  ["198.51.100.0", 24], // documentation
  ["203.0.113.0", 24], // documentation
  ["224.0.0.0", 4], // multicast
  ["240.0.0.0", 4], // reserved, broadcast
];

const NOT_PUBLIC_IPV6: readonly (readonly [string, number])[] = [
  ["2001::", 23], // protocols, Teredo, ORCHID
  ["2001:db8::", 32], // documentation
  ["2002::", 16], // 6to4
  ["3fff::", 20], // documentation
];

const NAT64 = "64:ff9b::";

interface AddressLists {
  readonly publicIpv6: BlockList;
  readonly notPublic: BlockList;
}

let lists: AddressLists | undefined;

function createLists(): AddressLists {
  const net = process.getBuiltinModule("node:net");
  const publicIpv6 = new net.BlockList();
  publicIpv6.addSubnet("2000::", 3, "ipv6");
  publicIpv6.addSubnet(NAT64, 96, "ipv6");
  const notPublic = new net.BlockList();
  for (const [address, length] of NOT_PUBLIC_IPV4) {
    notPublic.addSubnet(address, length, "ipv4");
    notPublic.addSubnet(`${NAT64}${address}`, 96 + length, "ipv6");
  }
  for (const [address, length] of NOT_PUBLIC_IPV6) notPublic.addSubnet(address, length, "ipv6");
  return { publicIpv6, notPublic };
}

/** False also for a text that is not an address and for an address with a zone. */
export function isPublicAddress(address: string): boolean {
  const { publicIpv6, notPublic } = (lists ??= createLists());
  switch (process.getBuiltinModule("node:net").isIP(address)) {
    case 4:
      return !notPublic.check(address, "ipv4");
    case 6:
      if (address.includes("%")) return false;
      return publicIpv6.check(address, "ipv6") && !notPublic.check(address, "ipv6");
    default:
      return false;
  }
}

/** The address in a URL; undefined when its host is a name. */
export function literalAddress({ hostname }: URL): string | undefined {
  const bare = hostname.startsWith("[") ? hostname.slice(1, -1) : hostname;
  return process.getBuiltinModule("node:net").isIP(bare) === 0 ? undefined : bare;
}
