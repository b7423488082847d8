// @modelcontextprotocol/ext-tasks: tasks of revision 2026-07-28.
import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import { createTaskSessionFromClient, resultFromTaskOutcome } from "@modelcontextprotocol/ext-tasks/client";
import { ask, main, say, target } from "./person.mjs";

const { address, tool, args, mode } = target();
const protocolVersion = "2026-07-28";
const clientInfo = { name: "proof", version: "1" };
const capabilities = { elicitation: { form: {} }, extensions: { "io.modelcontextprotocol/tasks": {} } };
const authorization = "Bearer ada";

let last = 1000;
async function rawDispatch(request, options) {
  const body = { jsonrpc: "2.0", id: `t${++last}`, ...request };
  const headers = { authorization, "content-type": "application/json", accept: "application/json, text/event-stream",
    "mcp-protocol-version": protocolVersion, "mcp-method": body.method,
    "mcp-name": body.params?.taskId ?? body.params?.name ?? "" };
  for (let i = 0; ; i++) {
    try {
      const response = await fetch(address, { method: "POST", headers, body: JSON.stringify(body), signal: options?.signal });
      const text = await response.text();
      if (!response.headers.get("content-type")?.includes("event-stream")) return JSON.parse(text);
      return JSON.parse(text.split("\n").filter((line) => line.startsWith("data: ")).at(-1).slice(6));
    } catch (e) {
      if (i > 200 || options?.signal?.aborted) throw e;
      await new Promise((done) => setTimeout(done, 50)); // no server listens
    }
  }
}

main(async () => {
  const client = new Client(clientInfo, { capabilities, versionNegotiation: { mode: "auto" } });
  await client.connect(new StreamableHTTPClientTransport(new URL(address), { requestInit: { headers: { authorization } } }));
  const onInputRequest = (request, context) => ask(request.params, context.signal);
  const session = createTaskSessionFromClient(client, { endpointId: "proof", rawDispatch, onInputRequest,
    v2RequestFraming: { protocolVersion, clientInfo, clientCapabilities: capabilities } });
  const execution = await session.callTool(tool, args);
  say({ execution: execution.kind, run: execution.handle?.taskId });
  if (mode === "cancel") await execution.cancel();
  const { outcome } = await execution.settle();
  return resultFromTaskOutcome(outcome);
});
