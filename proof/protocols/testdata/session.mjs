// @modelcontextprotocol/sdk 1.x, with a lost session: it opens a new session and waits for the run there.
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import { ElicitRequestSchema } from "@modelcontextprotocol/sdk/types.js";
import { ask, main, say, target, told } from "./person.mjs";

const { address, tool, args } = target();
async function open(answered = () => {}) {
  const client = new Client({ name: "proof", version: "1" }, { capabilities: { elicitation: {} } });
  client.setRequestHandler(ElicitRequestSchema, (request, extra) => ask(request.params, extra.signal).finally(answered));
  await client.connect(new StreamableHTTPClientTransport(new URL(address),
    { requestInit: { headers: { authorization: "Bearer ada" } } }));
  return client;
}

main(async () => {
  let answered;
  const dialog = new Promise((done) => { answered = done; });
  const lost = await open(answered);
  lost.callTool({ name: tool, arguments: args }).catch(() => {}); // no result arrives
  await dialog;
  say({ again: await lost.listTools().then(() => "known", (e) => e.code) });
  const { run_id } = await told();
  const client = await open();
  return await client.callTool({ name: "wait", arguments: { run_id } });
});
