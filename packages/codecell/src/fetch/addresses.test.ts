import { describe, expect, test } from "vitest";
import { isPublicAddress, literalAddress } from "./addresses.ts";

describe("addresses that are not public", () => {
  test.each([
    ["unspecified", ["0.0.0.0", "0.255.255.255", "::", "::0"]],
    [
      "private",
      ["10.0.0.0", "10.255.255.255", "172.16.0.0", "172.31.255.255", "192.168.0.1", "192.168.255.255"],
    ],
    ["carriers' NAT", ["100.64.0.0", "100.127.255.255"]],
    ["loopback", ["127.0.0.1", "127.255.255.255", "::1"]],
    ["services of one cloud", ["168.63.129.16", "64:ff9b::a83f:8110"]],
    ["link-local", ["169.254.0.1", "169.254.169.254", "fe80::1", "febf:ffff::1", "fe80::1%eth0"]],
    ["protocols", ["192.0.0.1", "192.0.0.255", "192.88.99.1", "2001::1", "2001:1ff:ffff::1", "2001:20::1"]],
    [
      "documentation",
      ["192.0.2.1", "198.51.100.7", "203.0.113.255", "2001:db8::1", "3fff::1", "3fff:fff::1"],
    ],
    ["benchmarks", ["198.18.0.0", "198.19.255.255"]],
    ["multicast", ["224.0.0.1", "239.255.255.255", "ff00::1", "ff02::1", "ff0e::1"]],
    ["reserved and broadcast", ["240.0.0.1", "255.255.255.255", "4000::1", "8000::1", "e000::1"]],
    ["unique local", ["fc00::1", "fd00::1", "fdff:ffff:ffff::1"]],
    ["site-local", ["fec0::1"]],
    ["discard", ["100::1"]],
    [
      "IPv4 in IPv6: mapped",
      ["::ffff:127.0.0.1", "::ffff:7f00:1", "::ffff:8.8.8.8", "0:0:0:0:0:ffff:10.0.0.1"],
    ],
    ["IPv4 in IPv6: compatible and translated", ["::127.0.0.1", "::8.8.8.8", "::ffff:0:8.8.8.8"]],
    ["6to4", ["2002:7f00:1::", "2002:a00:1::1", "2002:808:808::1"]],
    ["Teredo", ["2001:0:4136:e378:8000:63bf:3fff:fdd2"]],
    [
      "NAT64 of what is not public",
      ["64:ff9b::127.0.0.1", "64:ff9b::a00:1", "64:ff9b::a9fe:a9fe", "64:ff9b::c0a8:101"],
    ],
    ["NAT64 of a network's own", ["64:ff9b:1::8.8.8.8"]],
    [
      "no addresses",
      ["", "localhost", "1.2.3", "0x7f.1", "127.1", "1.2.3.4.5", "[::1]", "1.2.3.4:80", ":::", "8.8.8.8 "],
    ],
  ])("%s", (_kind, addresses) => {
    expect(addresses.filter(isPublicAddress)).toEqual([]);
  });
});

test("addresses next to those are public", () => {
  const addresses = [
    "1.0.0.0",
    "8.8.8.8",
    "9.255.255.255",
    "11.0.0.0",
    "100.63.255.255",
    "100.128.0.0",
    "126.255.255.255",
    "128.0.0.1",
    "169.253.255.255",
    "169.255.0.0",
    "172.15.255.255",
    "172.32.0.0",
    "192.0.1.0",
    "192.167.255.255",
    "192.169.0.0",
    "198.17.255.255",
    "198.20.0.0",
    "223.255.255.255",
    "2001:200::1",
    "2001:4860:4860::8888",
    "2003::1",
    "2606:4700::1111",
    "3ffe::1",
    "3fff:1000::1",
    "64:ff9b::8.8.8.8",
    "64:ff9b::808:808",
  ];
  expect(addresses.filter((address) => !isPublicAddress(address))).toEqual([]);
});

test.each([
  ["http://127.0.0.1/", "127.0.0.1"],
  ["http://2130706433/", "127.0.0.1"],
  ["http://0x7f.1/", "127.0.0.1"],
  ["http://0177.0.0.1/", "127.0.0.1"],
  ["http://127.1/", "127.0.0.1"],
  ["http://１２７.０.０.１/", "127.0.0.1"],
  ["http://[::ffff:127.0.0.1]/", "::ffff:7f00:1"],
  ["http://[::1]:8080/", "::1"],
  ["http://localhost/", undefined],
  ["http://127.0.0.1.nip.io/", undefined],
])("the host of %s is the address %s", (url, address) => {
  expect(literalAddress(new URL(url))).toBe(address);
});
