/** What a server under test tells the test, over HTTP: the test waits for what happens, and never for time. */
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";

export class Control {
  readonly pids: number[] = [];
  readonly #server: Server;
  readonly #happened = new Map<string, PromiseWithResolvers<void>>();
  /** Whether a process that starts may go on. */
  isOpen = true;

  private constructor(server: Server) {
    this.#server = server;
  }

  static async open(): Promise<Control> {
    const server = createServer((request, response) => {
      const [, event = "", pid] = request.url?.split("/") ?? [];
      if (event === "started") control.pids.push(Number(pid));
      response.statusCode = control.isOpen ? 200 : 503;
      response.end();
      control.tell(event);
    });
    const control = new Control(server);
    await listen(server);
    return control;
  }

  get url(): string {
    return addressOf(this.#server);
  }

  tell(event: string): void {
    this.#of(event).resolve();
  }

  happened(event: string): Promise<void> {
    return this.#of(event).promise;
  }

  #of(event: string): PromiseWithResolvers<void> {
    const known = this.#happened.get(event) ?? Promise.withResolvers<void>();
    this.#happened.set(event, known);
    return known;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await closeServer(this.#server);
  }
}

export async function listen(server: Server): Promise<void> {
  await new Promise<void>((resolve) => {
    server.listen(0, "127.0.0.1", resolve);
  });
}

export function addressOf(server: Server): string {
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

export async function closeServer(server: Server): Promise<void> {
  if (!server.listening) return;
  const closed = new Promise((resolve) => {
    server.close(resolve);
  });
  server.closeAllConnections();
  await closed;
}
