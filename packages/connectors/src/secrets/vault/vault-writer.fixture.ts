/** Writes to a vault as one of many processes: its arguments are the file, its own number, how many secrets. */
import { openVault } from "./vault.ts";

const [file = "", number = "", count = ""] = process.argv.slice(2);
const vault = openVault({ file, env: {} });
for (let at = 0; at < Number(count); at++) {
  const name = `SECRET_${number}_${at}`;
  await vault.set(name, `value ${number} ${at}`);
  await vault.grant(name, "shop");
  await vault.grant("SHARED", `connector-${number}-${at}`);
}
process.stdout.write("done");
