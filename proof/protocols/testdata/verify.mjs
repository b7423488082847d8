// verify checks streams with the validators of the protocols' publishers. Each line of the file is a stream:
// {name, protocol, events}.
import { createReadStream } from "node:fs";
import { createInterface } from "node:readline";
import { verifyEvents } from "@ag-ui/client";
import { EventSchemas } from "@ag-ui/core/schemas";
import { readUIMessageStream, uiMessageChunkSchema } from "ai";
import { asSchema } from "@ai-sdk/provider-utils";
import { from, lastValueFrom, toArray } from "rxjs";

const chunks = asSchema(uiMessageChunkSchema);

const verify = {
  async agui(events) {
    for (const event of events) EventSchemas.parse(event);
    await lastValueFrom(from(events).pipe(verifyEvents(false), toArray()));
    const end = events.at(-1).type;
    if (end !== "RUN_FINISHED" && end !== "RUN_ERROR") throw new Error(`it ends with ${end}`);
  },
  async aisdk(events) {
    for (const event of events) {
      const { success, error } = await chunks.validate(event);
      if (!success) throw new Error(`${JSON.stringify(event)}: ${error.message}`);
    }
    const stream = new ReadableStream({ start(c) { events.forEach((e) => c.enqueue(e)); c.close(); } });
    let failure;
    for await (const _ of readUIMessageStream({ stream, onError: (e) => { failure = e; } })); // eslint-disable-line
    if (failure && events.at(-1).type !== "error") throw failure;
  },
};

const counts = { agui: 0, aisdk: 0 };
for await (const line of createInterface({ input: createReadStream(process.argv[2]) })) {
  const { name, protocol, events } = JSON.parse(line);
  try {
    await verify[protocol](events);
    counts[protocol]++;
  } catch (e) {
    process.stdout.write(JSON.stringify({ name, failed: String(e?.message ?? e).slice(0, 500), events }) + "\n");
    process.exit(0);
  }
}
process.stdout.write(JSON.stringify(counts) + "\n");
