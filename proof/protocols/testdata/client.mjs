// @modelcontextprotocol/client 2.x, in both modes: legacy, and auto, which repeats calls with the answers.
import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import { StdioClientTransport } from "@modelcontextprotocol/client/stdio";
import { ask, main, target } from "./person.mjs";

const { transport, address, tool, args, mode } = target();

// patient repeats a request while no server listens.
async function patient(input, init) {
  for (let i = 0; ; i++) {
    try {
      return await fetch(input, init);
    } catch (e) {
      if (i > 200 || init?.signal?.aborted) throw e;
      await new Promise((done) => setTimeout(done, 50));
    }
  }
}

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
