/** Answers of an HTTP backend that repeats what it was sent, wherever it can. For tests. */
import type { Answer } from "../web-backend.ts";
import { allForms } from "./leaks.ts";
import { mcpAnswers, type Request } from "./mcp-leaks.ts";

export const WEB_LEAKS = [
  "json",
  "text",
  "bytes",
  "nameless",
  "headers",
  "bad-json",
  "error-json",
  "error-html",
  "error-401",
  "error-at-length",
  "error-retry",
  "redirect",
  "hang-up",
] as const;

/** Paths end in `/<how>`. */
export const leakingAnswer: Answer = ({ url, rawHeaders, body }, response) => {
  const { pathname, searchParams } = new URL(url, "http://localhost");
  const basic = rawHeaders.flatMap((value) =>
    value.startsWith("Basic ") ? [Buffer.from(value.slice(6), "base64").toString()] : [],
  );
  const given = [...rawHeaders, ...searchParams.values(), ...basic].filter((text) =>
    /core|Basic/u.test(text),
  );
  const decoded = given.map((text) => decodeURIComponent(text.replaceAll(/%(?![0-9a-f]{2})/giu, "%25")));
  const sent = [...new Set([...given, ...decoded, url])];
  const leak = allForms(sent);
  const send = (status: number, type: string, text: string | Buffer): void => {
    response.writeHead(status, { "content-type": type }).end(text);
  };
  const name = pathname.split("/").at(-1);
  const isGraphql = name === "graphql";
  const how = isGraphql ? howOf(body.toString()) : name;
  switch (how as (typeof WEB_LEAKS)[number] | "mcp") {
    case "mcp": {
      const request = JSON.parse(body.toString() || "{}") as Request;
      const answers = mcpAnswers(request, sent);
      if (answers.length === 0) response.writeHead(request.method === undefined ? 405 : 202).end();
      else send(200, "text/event-stream", answers.map((one) => `data: ${JSON.stringify(one)}\n\n`).join(""));
      return;
    }
    case "json":
      send(
        200,
        "application/json",
        JSON.stringify(
          isGraphql ? { data: { leak: { [leak]: sent } } } : { [leak]: [leak, sent, { sent }] },
        ).replaceAll("/", "\\/"),
      );
      return;
    case "text":
      send(200, "text/plain", leak);
      return;
    case "bytes":
      send(200, "application/octet-stream", Buffer.concat([Buffer.from([0, 255]), Buffer.from(leak)]));
      return;
    case "nameless":
      response.writeHead(200).end(leak);
      return;
    case "headers":
      response.setHeader(
        "x-sent",
        sent.map((text) => encodeURIComponent(text)),
      );
      response.setHeader("x-raw", given);
      response.setHeader("etag", Buffer.from(sent.join("")).toString("base64"));
      response.setHeader("set-cookie", given);
      response.setHeader(
        "content-disposition",
        `attachment; filename="${encodeURIComponent(sent.join(""))}"`,
      );
      send(200, "application/pdf", "a");
      return;
    case "bad-json":
      send(200, "application/json", `{"a": ${leak}`);
      return;
    case "error-json":
      if (isGraphql)
        send(200, "application/json", JSON.stringify({ errors: [{ message: leak, path: [leak] }] }));
      else send(500, "application/json", JSON.stringify({ message: leak, error: { [leak]: sent } }));
      return;
    case "error-html":
      send(400, "text/html", `<p>You sent ${leak}</p>`);
      return;
    case "error-401":
      response.statusMessage = `No ${given.map((text) => encodeURIComponent(text)).join(" ")}`;
      response.setHeader("www-authenticate", given);
      send(401, "text/plain", "");
      return;
    case "error-at-length":
      send(500, "text/plain", "x".repeat(7) + sent.join("").repeat(1000));
      return;
    case "error-retry":
      response.setHeader("retry-after", given);
      send(429, "application/json", JSON.stringify([sent]));
      return;
    case "redirect":
      response
        .writeHead(302, {
          location: `http://localhost:1/?${searchParams.toString()}&${given.map(encodeURIComponent).join("&")}`,
        })
        .end();
      return;
    case "hang-up":
      response.destroy();
      return;
    default:
      send(404, "text/plain", leak);
  }
};

function howOf(body: string): string | undefined {
  return (JSON.parse(body) as { variables?: { how?: string } }).variables?.how;
}
