// @modelcontextprotocol/sdk 1.x: sessions.
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import { ElicitRequestSchema } from "@modelcontextprotocol/sdk/types.js";
import { ask, main, target } from "./person.mjs";

const { transport, address, tool, args } = target();
main(async () => {
  const client = new Client({ name: "proof", version: "1" }, { capabilities: { elicitation: {} } });
  client.setRequestHandler(ElicitRequestSchema, (request, extra) => ask(request.params, extra.signal));
  await client.connect(transport === "stdio"
    ? new StdioClientTransport({ command: address.split(" ")[0], args: address.split(" ").slice(1), env: process.env })
    : new StreamableHTTPClientTransport(new URL(address), { requestInit: { headers: { authorization: "Bearer ada" } } }));
  const result = await client.callTool({ name: tool, arguments: args });
  await client.close();
  return result;
});
