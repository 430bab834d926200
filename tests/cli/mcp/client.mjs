// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// Uses `waiter mcp` through the official client of the Model Context Protocol:
//
//   node client.mjs WAITER
//
// Prints "N passed, N failed" last.

import { spawn } from "node:child_process";
import { readFileSync, rmSync } from "node:fs";
import { createServer } from "node:http";
import { tmpdir } from "node:os";
import { createInterface } from "node:readline";
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js";

const waiter = process.argv[2];
let passed = 0;
let failed = 0;
function check(name, condition, seen) {
  if (condition) {
    ++passed;
  } else {
    ++failed;
    console.log(`FAILED: ${name}: ${JSON.stringify(seen)}`);
  }
}

// A job that is done after some polls, and one that fails.
let polls = 0;
const server = createServer((request, response) => {
  const done = request.url === "/fails" ? "FAILED" : ++polls > 2 ? "DONE" : "RUNNING";
  response.setHeader("Content-Type", "application/json");
  response.end(JSON.stringify({ status: done, authorization: request.headers.authorization }));
});
await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
const url = `http://127.0.0.1:${server.address().port}`;

const transport = new StdioClientTransport({
  command: waiter,
  args: ["mcp", "--allow=http,tcp"],
  env: { PATH: process.env.PATH, WAITER_BEARER: "env:TOKEN", TOKEN: "a-secret-token" },
});
const client = new Client({ name: "test", version: "1" }, { capabilities: {} });
await client.connect(transport);
const call = (name, args) => client.callTool({ name, arguments: args });
const job = { json: ['.status == "DONE"'], fail_json: ['.status == "FAILED"'] };

const { tools } = await client.listTools();
check("three tools", tools.length === 3, tools.map((tool) => tool.name));

let result = await call("wait_for", { targets: [`job=${url}/job`], every: "100ms", ...job });
check("a job is done", result.structuredContent.state === "ready", result);
check("its polls are counted", result.structuredContent.targets[0]?.polls === 3, result);

result = await call("wait_for", { targets: [`${url}/fails`], ...job });
check("a failed job ends the wait", result.structuredContent.state === "failed", result);
check("a failure says why", result.content[0].text.includes("FAILED"), result);
check("no secret in an answer", !JSON.stringify(result).includes("a-secret-token"), result);

result = await call("wait_for", { targets: ["tcp://127.0.0.1:1"], slice: "300ms" });
check("a slice ends", result.structuredContent.state === "waiting", result);
const id = result.structuredContent.wait_id;
result = await call("wait_status", { wait_id: id, slice: "0s" });
check("a status is immediate", result.structuredContent.state === "waiting", result);
result = await call("wait_cancel", { wait_id: id });
check("a wait is cancelled", result.structuredContent.state === "cancelled", result);

result = await call("wait_for", { targets: ["exec:true"] });
check("exec is refused", result.isError && result.content[0].text.includes("--allow=exec"), result);
result = await call("wait_for", { targets: ["tcp://127.0.0.1:1"], timeout: "soon" });
check("an invalid value is an error", result.isError && result.content[0].text.includes("timeout"), result);

polls = 0;
const seen = [];
let interval = 0;
const stream = client.experimental.tasks.callToolStream(
  { name: "wait_for", arguments: { targets: [`${url}/job`], every: "300ms", ...job } },
  undefined,
  { task: { ttl: 60000 } },
);
for await (const message of stream) {
  seen.push(message.type);
  if (message.type === "taskStatus") interval = message.task.pollInterval ?? interval;
  if (message.type === "result") result = message.result;
  if (message.type === "error") result = message.error;
}
check("a task is created", seen[0] === "taskCreated", seen);
check("a task has a result", result.structuredContent?.state === "ready", result);
check("its interval comes from the wait", interval > 0 && interval <= 500, interval);
const { tasks } = await client.experimental.tasks.listTasks();
check("tasks are listed", tasks.length === 1 && tasks[0].status === "completed", tasks);

await client.close();
server.close();

// Without the client library: input that it does not send, and the end of the input during a wait.
const raw = spawn(waiter, ["mcp", "--allow=exec"], { stdio: ["pipe", "pipe", "inherit"] });
const lines = createInterface({ input: raw.stdout })[Symbol.asyncIterator]();
const next = async () => JSON.parse((await lines.next()).value);
const send = (message) => raw.stdin.write(JSON.stringify(message) + "\n");
raw.stdin.write(`{"jsonrpc":"2.0","id":1,"method":"ping","x":"${"x".repeat(2 << 20)}"}\n`);
result = await next();
check("a line of 2 MiB is refused", result.error?.code === -32700, result);
send({ jsonrpc: "2.0", id: 2, method: "ping" });
result = await next();
check("the next message is read", result.id === 2, result);
const pidFile = `${tmpdir()}/waiter-mcp-${process.pid}`;
send({
  jsonrpc: "2.0",
  id: 3,
  method: "tools/call",
  params: { name: "wait_for", arguments: { targets: [`exec:echo $$ >${pidFile}; exec sleep 100`], slice: "1s" } },
});
result = await next();
check("a wait is under way", result.result.structuredContent.state === "waiting", result);
const ended = new Promise((resolve) => raw.on("exit", resolve));
raw.stdin.end();
check("the end of the input ends the server", (await ended) === 0, raw.exitCode);
let alive = true;
try {
  process.kill(Number(readFileSync(pidFile, "utf8")), 0);
} catch {
  alive = false;
}
check("and its waits", !alive, pidFile);
rmSync(pidFile);

console.log(`${passed} passed, ${failed} failed`);
process.exit(failed === 0 ? 0 : 1);
