/** An HTTP API on loopback that knows what was sold, and describes itself with OpenAPI. */
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";

const SOLD: Readonly<Record<string, number>> = { pen: 90, ink: 0, desk: 12 };

const DESCRIPTION = {
  openapi: "3.1.0",
  info: { title: "Sales", version: "1.0.0" },
  paths: {
    "/months/last/sales": {
      get: {
        operationId: "sold_last_month",
        summary: "How many of each of these goods were sold last month",
        parameters: [
          {
            name: "sku",
            in: "query",
            required: true,
            schema: { type: "array", items: { type: "string" } },
          },
        ],
        responses: {
          200: {
            description: "The number of each",
            content: {
              "application/json": {
                schema: { type: "object", additionalProperties: { type: "integer" } },
              },
            },
          },
        },
      },
    },
  },
};

export interface SalesApi extends AsyncDisposable {
  readonly origin: string;
}

export async function startSalesApi(): Promise<SalesApi> {
  const server = createServer(({ url = "/" }, response) => {
    const { pathname, searchParams } = new URL(url, "http://localhost");
    const asked = searchParams.getAll("sku");
    const answer =
      pathname === "/openapi.json"
        ? DESCRIPTION
        : Object.fromEntries(asked.map((sku) => [sku, SOLD[sku] ?? 0]));
    response.writeHead(200, { "content-type": "application/json" }).end(JSON.stringify(answer));
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  return {
    origin: `http://127.0.0.1:${port}`,
    [Symbol.asyncDispose]: async () => {
      const closed = new Promise<void>((resolve) => server.close(() => resolve()));
      server.closeAllConnections();
      await closed;
    },
  };
}
