// The person at a client: each dialog is a line of the output, and its answer a line of the input.
import { createInterface } from "node:readline";

const waiting = []; // dialogs without an answer, in order
createInterface({ input: process.stdin }).on("line", (line) => waiting.shift()(JSON.parse(line)));

export const say = (message) => process.stdout.write(JSON.stringify(message) + "\n");

// Returns the next line of the input.
export const told = () => new Promise((answer) => waiting.push(answer));

export function ask(params, signal) {
  return new Promise((answer, reject) => {
    waiting.push(answer);
    signal?.addEventListener("abort", () => {
      if (!waiting.includes(answer)) return; // it was answered
      waiting.splice(waiting.indexOf(answer), 1);
      say({ withdrawn: params.message });
      reject(new Error("withdrawn"));
    });
    say({ asked: params.message });
  });
}

export async function main(run) {
  try {
    const result = await run();
    const content = result.content?.[0];
    say({ result: content?.text ?? JSON.stringify(result), error: Boolean(result.isError), run: result.structuredContent?.run_id });
  } catch (e) {
    say({ failed: String(e?.message ?? e) });
  }
  process.exit(0);
}

// target returns the arguments: the transport (http or stdio), the URL or the command, the tool and its arguments.
export function target() {
  const [transport, address, tool, args, mode] = process.argv.slice(2);
  return { transport, address, tool, args: JSON.parse(args), mode };
}
