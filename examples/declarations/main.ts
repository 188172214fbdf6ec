/** Shows what a model would be shown, then runs a program a person wrote with the same tools' types. */
import { equal } from "node:assert/strict";
import { run, unwrap } from "codecell";
import { renderDeclarations, renderSignature, renderType } from "codecell/declare";
import { program } from "./program.ts";
import { warehouse } from "./warehouse.ts";

const EXPECTED = `\
type Shelf={name:string, /** Free places. int, >=0 */ free:number,shelves?:Shelf[]}
type From={street:string,city:string,country:string}
declare const tools:{
/** All shelves. Shelves may hold shelves */ list_shelves(input?:unknown):Promise<Shelf>
/** Puts a parcel on a shelf */ store(input:{shelf:string, /** default "small" */ size?:"small"|"large", /** Where it came from */ from?:From, /** Where it goes */ to?:From}):Promise<unknown>
}`;

const declarations = renderDeclarations(warehouse);
console.log("What a model is shown:\n");
console.log(declarations);
equal(declarations, EXPECTED);

const signature = renderSignature("store", warehouse.store, { maxCharacters: 120 });
console.log("\nOne call in at most 120 characters, for a list of search results:\n");
console.log(signature);
equal(
  signature,
  'store(input:{shelf:string,size?:"small"|"large",[k:string]:unknown/* …2 more fields */}):Promise<unknown>',
);

const item = {
  type: "object",
  properties: { id: { type: "string", readOnly: true }, name: { type: "string" } },
};
equal(renderType("Item", item, { direction: "input" }), "type Item={name?:string}");
equal(renderType("Item", item, { direction: "output" }), "type Item={id?:string,name?:string}");

const result = await run({ source: `return (${program.toString()})(tools)`, tools: warehouse });
const value = unwrap(result);
console.log("\nThe program of a person who had their types:", value);
equal(value, "right, top/1 since 1970");
console.log("\nAll as expected.");
