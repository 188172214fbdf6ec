/**
 * Runs on the host. Faults: what a transport found wrong with an answer. It hands the fault on as the answer of the request
 * that it belongs to, so that this request fails and no other one does.
 */
import { type JSONRPCMessage, ProtocolError } from "@modelcontextprotocol/client";

/** An answer larger than the connector takes, a stream without one, an answer that is none. */
export type Fault = "too-large" | "ended" | "malformed";

export type AnswerId = string | number;

/** No server knows the name of the field, so that none can pretend a fault. */
const FIELD = `fault-${crypto.randomUUID()}`;

const CODE = -32_099;

export function faultAnswer(id: AnswerId, fault: Fault): JSONRPCMessage {
  return { jsonrpc: "2.0", id, error: { code: CODE, message: fault, data: { [FIELD]: fault } } };
}

/** For what is no answer of a request: the body of a response. */
export class FaultError extends Error {
  override readonly name = "FaultError";
  readonly fault: Fault;

  constructor(fault: Fault) {
    super(fault);
    this.fault = fault;
  }
}

export function faultOf(error: unknown): Fault | undefined {
  if (error instanceof FaultError) return error.fault;
  if (!(error instanceof ProtocolError)) return undefined;
  return (error.data as Readonly<Record<string, Fault>> | undefined)?.[FIELD];
}
