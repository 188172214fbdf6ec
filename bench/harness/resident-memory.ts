/**
 * Resident memory of this process, now and at its highest.
 *
 * The high-water mark is the kernel's own (VmHWM), so a peak during synchronous work is not missed. `maxRSS` of
 * getrusage is only the fallback: on Linux it starts from the parent's size at the time of the fork.
 */

import { readFileSync } from "node:fs";

const MB = 1024 * 1024;

export function residentMb(): number {
  return process.memoryUsage.rss() / MB;
}

export function peakResidentMb(): number {
  try {
    const kilobytes = /^VmHWM:\s+(\d+) kB$/m.exec(readFileSync("/proc/self/status", "utf8"))?.[1];
    if (kilobytes !== undefined) return Number(kilobytes) / 1024;
  } catch {
    // no procfs
  }
  return process.resourceUsage().maxRSS / 1024;
}
