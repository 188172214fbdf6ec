/**
 * MessagePieces: divides commands to a worker into pieces, so that copying a piece takes no thread long. Runs on the
 * host.
 */
import type { Command } from "../../protocol/messages.ts";
import { ITEM_UNITS, MESSAGE_UNITS } from "../../protocol/report-pieces.ts";
import type { Delivery } from "../../contract/ledger.ts";

/** Divides a history into pieces, at least one. */
export function inPieces(history: readonly Delivery[]): (readonly Delivery[])[] {
  const pieces: (readonly Delivery[])[] = [];
  let units = 0;
  let from = 0;
  for (const [index, delivery] of history.entries()) {
    units += deliveryUnits(delivery);
    if (units <= MESSAGE_UNITS) continue;
    pieces.push(history.slice(from, index + 1));
    from = index + 1;
    units = 0;
  }
  // Most histories are one piece.
  pieces.push(from === 0 ? history : history.slice(from));
  return pieces;
}

/** How many commands go into the next message, at least one. */
export function messageOf(commands: readonly Command[]): number {
  let units = 0;
  for (const [index, command] of commands.entries()) {
    units += commandUnits(command);
    if (units > MESSAGE_UNITS) return index + 1;
  }
  return commands.length;
}

/** The buffers that are transferred with a command instead of copied. */
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
    case "next":
    case "drop":
      return 0;
    default:
      return command satisfies never;
  }
}

function historyUnits(history: readonly Delivery[]): number {
  return history.reduce((sum, delivery) => sum + deliveryUnits(delivery), 0);
}

function deliveryUnits({ items }: Delivery): number {
  let units = 0;
  for (const item of items) {
    units += ITEM_UNITS;
    if (item.kind === "output") units += item.output.length;
    else if (item.kind === "failure") units += item.failure.message.length;
  }
  return units;
}
