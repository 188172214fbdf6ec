/** The contract of sandboxes holds on what a page gives: the worker waits for digests and for compression. */
import { testSandbox } from "codecell/testing";
import { createWebLikeSandbox } from "./web-like-sandbox.ts";

const ONE_THREAD = "guest code runs on the thread of the test, which can do nothing meanwhile";

testSandbox("in process, on what a page gives", createWebLikeSandbox, [
  { test: "drop ends guest code that runs", reason: ONE_THREAD },
  { test: "a native loop is ended", reason: ONE_THREAD },
  { test: "a value that takes for ever is given up", reason: ONE_THREAD },
  { test: "memory that others need is asked for", reason: "it has no bound on the memory of all cells" },
]);
