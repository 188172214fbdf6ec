/**
 * A real GraphQL server on loopback: graphql-yoga with any schema, whose answers are made up by its types. For tests.
 *
 * - It validates every document that it gets, and coerces every variable.
 */
import { createServer, type RequestListener } from "node:http";
import { createRequire } from "node:module";
import type { AddressInfo } from "node:net";

type Schema = object;

interface Yoga {
  readonly createSchema: (options: {
    readonly typeDefs: string;
    readonly assumeValid: boolean;
    readonly assumeValidSDL: boolean;
    readonly resolvers?: object;
  }) => Schema;
  readonly createYoga: (options: {
    readonly schema: Schema;
    readonly logging: boolean;
    readonly maskedErrors: boolean;
  }) => RequestListener;
}

interface Mock {
  readonly addMocksToSchema: (options: { readonly schema: Schema; readonly mocks: object }) => Schema;
}

// Their types bring those of the DOM, which are not those of Node.js.
const require = createRequire(import.meta.url);
const { createSchema, createYoga } = require("graphql-yoga") as Yoga;
const { addMocksToSchema } = require("@graphql-tools/mock") as Mock;

export interface GraphqlServer extends AsyncDisposable {
  readonly endpoint: string;
}

/** `scalars` are what the scalars of the schema are made of. */
export async function startGraphqlServer(
  sdl: string,
  scalars: Readonly<Record<string, () => unknown>>,
): Promise<GraphqlServer> {
  // Some large schemas break rules of the language, and are used all the same.
  const schema = createSchema({ typeDefs: sdl, assumeValid: true, assumeValidSDL: true });
  const mocked = addMocksToSchema({ schema, mocks: { ...scalars } });
  const server = createServer(createYoga({ schema: mocked, logging: false, maskedErrors: false }));
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  return {
    endpoint: `http://127.0.0.1:${port}/graphql`,
    [Symbol.asyncDispose]: async () => {
      const closed = new Promise<void>((resolve) => server.close(() => resolve()));
      server.closeAllConnections();
      await closed;
    },
  };
}
