/** MessagePieces: commands to a worker in pieces that take no thread long to copy. On the host. */
import type { Command } from "../../protocol/messages.ts";
import type { Delivery } from "../../contract/ledger.ts";

/** UTF-16 units of a piece, after which it ends: one to three milliseconds. */
const MOST_UNITS = 1_000_000;

/** A history in pieces; one at least. */
export function inPieces(history: readonly Delivery[]): (readonly Delivery[])[] {
  const pieces: (readonly Delivery[])[] = [];
  let units = 0;
  let from = 0;
  for (const [index, delivery] of history.entries()) {
    units += deliveryUnits(delivery);
    if (units <= MOST_UNITS) continue;
    pieces.push(history.slice(from, index + 1));
    from = index + 1;
    units = 0;
  }
  // Most are one piece.
  pieces.push(from === 0 ? history : history.slice(from));
  return pieces;
}

/** How many of the commands make the next message; one at least. */
export function messageOf(commands: readonly Command[]): number {
  let units = 0;
  for (const [index, command] of commands.entries()) {
    units += commandUnits(command);
    if (units > MOST_UNITS) return index + 1;
  }
  return commands.length;
}

/** Buffers that go with a command instead of being copied. */
export function transferredBy(command: Command): ArrayBuffer[] {
  return command.type === "start" && command.snapshot !== undefined ? [command.snapshot.bytes.buffer] : [];
}

function commandUnits(command: Command): number {
  switch (command.type) {
    case "history":
      return historyUnits(command.deliveries);
    case "start":
      return command.source.length + command.toolNames.length + historyUnits(command.history);
    case "deliver":
      return deliveryUnits(command.delivery);
    case "snapshot":
    case "drop":
      return 0;
    default:
      return command satisfies never;
  }
}

function historyUnits(history: readonly Delivery[]): number {
  return history.reduce((sum, delivery) => sum + deliveryUnits(delivery), 0);
}

/** Beside texts an item is a few members. */
function deliveryUnits({ items }: Delivery): number {
  let units = 0;
  for (const item of items) {
    units += 64;
    if (item.kind === "output") units += item.output.length;
    else if (item.kind === "failure") units += item.failure.message.length;
  }
  return units;
}
