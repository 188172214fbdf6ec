/** The command line of a warehouse: `stock.mjs list [--below=<count>]`, `stock.mjs drop -- <sku>`. */
import { argv, exit, stderr, stdout } from "node:process";

const STOCK = [
  { sku: "pen", left: 3 },
  { sku: "ink", left: 0 },
  { sku: "desk", left: 40 },
];

const [, , command, ...rest] = argv;
switch (command) {
  case "list": {
    const below = Number(rest[0]?.slice("--below=".length) ?? Infinity);
    stdout.write(JSON.stringify(STOCK.filter(({ left }) => left < below)));
    break;
  }
  case "drop": {
    const sku = rest[1];
    if (STOCK.some((one) => one.sku === sku)) stdout.write(`dropped ${sku}\n`);
    else {
      stderr.write(`no ${sku} here\n`);
      exit(1);
    }
    break;
  }
  default:
    stderr.write("usage: stock.mjs list|drop\n");
    exit(2);
}
