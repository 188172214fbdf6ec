/**
 * What handles of connectors promise: the behaviours of `spec/handles.md`, under their numbers there. Pure data.
 *
 * A proof cites `[handles:<number>]`, and takes the number out of `PENDING_HANDLES` in the same commit.
 */

/** Those of this part that have no proof yet, with the reason; the list only shrinks. */
export const PENDING_HANDLES: Readonly<Record<number, string>> = {
  41: "The canaries of every kind of credential are planted beside this",
  107: "Three kinds are made beside this",
};

export const HANDLES: Readonly<Record<number, string>> = {
  2: "Each backend has a handle under its id, also where the id is no identifier",
  5: "The types of handles, pages, results and summaries are those of the contract",
  6: "The text of a card in the declarations is short and cannot end its comment",
  7: "Equal backends have equal declarations, and a hash says so",
  10: "inspect gives the card, and nothing of how the backend is reached but safe facts",
  11: "check says that a backend is ready, or what is wrong, and never throws",
  12: "Pages of tools visit each tool once, in a stable order, without schemas",
  13: "Large limits are lowered, and unknown cursors begin at the first page",
  14: "A list has pages of 50 and a search of 20, unless the program says otherwise",
  15: "Lists shorten descriptions; describeTool has the whole text",
  16: "A search gives what matches, best first, and nothing where nothing does",
  17: "Cursors reach all that a search found",
  18: "A tool whose exact name is searched comes first",
  19: "Hints are there only where a tool declares them",
  20: "A list that could not be read is not an empty list",
  21: "All pages of a server's own list are read",
  22: "Backends without resources and prompts have empty lists",
  23: "Resources, templates and prompts have their names, and are found by their texts",
  24: "describeTool gives schemas and types",
  25: "Signatures and types of a tool are printed as the contract words them",
  26: "References, unions and lists of unions are printed so that they compile",
  27: "An unknown tool is a result that names the closest tools",
  28: "What is printed of outputs is what callTool gives",
  29: "Examples are a list of at most three",
  30: "Failed calls are results, and the program goes on",
  31: "Arguments that are left out are none",
  32: "Arguments that do not fit never reach the backend, and the error says how to mend them",
  33: "Data is unwrapped: structured content, JSON in a text, the body of a response",
  34: "Nothing of an answer is cut or lost in silence",
  35: "Results say which backend and tool gave them, and how long that took",
  36: "Errors use the words of handles and tell nothing of transports",
  37: "A call has as long as its backend's time-out",
  38: "Calls overlap",
  39: "Bytes cross whole, or are refused with their place",
  40: "Bytes of a backend are told of by a reference",
  41: "No handle tells a secret",
  42: "Resources are read; what cannot be read says so",
  43: "Prompts are made; unknown ones say so",
  44: "Arguments of prompts and templates are completed, with what is known of the others",
  45: "Searches and names without words are refused",
  93: "What a tool's outputs were like is told with a tool that does not say",
  94: "It is learnt from calls, and changes with them",
  95: "It has no values, and is bounded",
  96: "A field that every output had is not optional",
  103: "Programs with connectors have the platform's globals",
  104: "What the host gives to the guest's own code is out of a program's reach",
  107: "All kinds of backends answer the same handle",
  110: "A model is told of handles in fewer bytes than by the product of the contract",
  111: "The recipes of the contract run as they are written",
};
