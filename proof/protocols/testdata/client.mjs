// @modelcontextprotocol/client 2.x, in both modes: legacy, and auto, which repeats calls with the answers.
import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import { StdioClientTransport } from "@modelcontextprotocol/client/stdio";
import { patient } from "./patient.mjs";
import { ask, main, target } from "./person.mjs";

const { transport, address, tool, args, mode } = target();

main(async () => {
  const client = new Client({ name: "proof", version: "1" },
    { capabilities: { elicitation: { form: {} } }, versionNegotiation: { mode } });
  client.setRequestHandler("elicitation/create", (request, context) => ask(request.params, context?.mcpReq?.signal));
  await client.connect(transport === "stdio"
    ? new StdioClientTransport({ command: address.split(" ")[0], args: address.split(" ").slice(1), env: process.env })
    : new StreamableHTTPClientTransport(new URL(address),
      { fetch: patient, requestInit: { headers: { authorization: "Bearer ada" } } }));
  const result = await client.callTool({ name: tool, arguments: args });
  await client.close();
  return result;
});
