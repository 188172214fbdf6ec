/**
 * Synonyms: words that requests and tools use for the same thing. Runs anywhere.
 *
 * - Each line is a group. A word of a request also finds the other words of its groups, with a lower score.
 * - The groups cover what tools do in general (files, messages, accounts, money, places, code, media), not one catalog.
 *   Synonyms that the word vectors already know need not be here.
 */

import { stem } from "./stem.ts";

const GROUPS = `
get fetch retrieve obtain read load return
list show display view enumerate browse
find search lookup query locate discover
create add make new insert generate build
delete remove erase drop clear discard trash
update edit change modify alter set revise adjust
send post deliver submit transmit
message chat dm conversation
email mail inbox
notify alert remind reminder notification
start launch begin run execute invoke trigger
stop end terminate kill cancel abort halt
open close
copy duplicate clone
move rename relocate transfer
save store write persist record
download upload attach attachment
file document
folder directory
picture image photo photograph
video clip movie film
audio sound music song track
text string content
page site website webpage web url link
repo repository project
issue ticket bug
commit revision history
branch fork
merge combine join concatenate
split divide separate
compare diff difference
calculate compute determine
count number total amount
sum add plus
average mean
convert transform translate
currency money exchange
price cost fee rate
pay payment charge checkout
refund reimburse return money
invoice bill receipt
buy purchase order shop
sell sale
book reserve reservation booking
flight plane airline airfare
hotel accommodation lodging stay room
trip travel journey vacation itinerary
route direction navigation path
map location place address coordinate geocode
distance far near nearby
weather forecast temperature climate rain
time clock date day
schedule calendar meeting appointment event
task todo reminder
note memo
contact person people user member
team group channel
company business organization firm
job employment career position vacancy
account profile user
login authenticate signin auth credential
password secret key token
permission access role grant
table sheet spreadsheet
row record entry
column field attribute
database sql db
chart graph plot diagram visualization
report summary summarize overview
analyze analysis examine inspect evaluate assess
check verify validate test
fix repair resolve correct
review feedback comment rating
recommend suggest recommendation suggestion
learn study education course
news headline article
stock share equity ticker
crypto cryptocurrency bitcoin coin
food meal recipe dish cook
restaurant dining eat
health medical doctor patient
medicine drug medication prescription
exercise workout fitness training
game play match
sport team league score
definition meaning define
language translation translate
law legal lawsuit attorney
house home property estate apartment
car vehicle automobile
size dimension length width height
big large huge
small little tiny
latest newest recent current
all every list
rank top best popular
describe description detail info information
explain clarify describe
command shell terminal script
log trace history
server host machine instance
container docker pod
deploy release publish
install setup configure setting
metric monitor usage statistic stats
temporary temp
archive zip compress
extract parse scrape
subscribe follow subscription
like favorite star
reply respond answer
`;

const BY_TERM: ReadonlyMap<string, readonly string[]> = readGroups(GROUPS);

/** The synonyms of a term, as stemmed terms. */
export function synonymsOf(term: string): readonly string[] {
  return BY_TERM.get(term) ?? [];
}

function readGroups(text: string): Map<string, string[]> {
  const byTerm = new Map<string, string[]>();
  for (const line of text.trim().split("\n")) {
    const group = [...new Set(line.split(" ").map(stem))];
    for (const term of group) {
      const others = group.filter((each) => each !== term);
      byTerm.set(term, [...new Set([...(byTerm.get(term) ?? []), ...others])]);
    }
  }
  return byTerm;
}
