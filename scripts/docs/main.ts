/** Writes the generated pages. Run: npm run docs */
import { mkdirSync, writeFileSync } from "node:fs";
import { dirname } from "node:path";
import { ROOT } from "./declared.ts";
import { renderPages } from "./pages.ts";

for (const [path, text] of Object.entries(renderPages())) {
  mkdirSync(dirname(`${ROOT}${path}`), { recursive: true });
  writeFileSync(`${ROOT}${path}`, text);
}
