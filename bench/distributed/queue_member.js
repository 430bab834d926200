// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// Measures the same as sqlite_costs.cc and postgres_costs.cc, with a job queue.
// Each wait is a job, and the processor that "polls" it adds it again with a
// delay of 0.7 to 1.3 s. Prints a row of numbers: jobs per second, and
// microseconds of processor time per job, of this process or of the server.
//
//   node queue_member.js --queue=plainjob --file=/var/tmp/jobs.db
//   node queue_member.js --queue=pg-boss --url=postgres://me@127.0.0.1/bench \
//       --server=PID --part=enqueue
//
// Each queue is set up as its documentation says that it is fastest: fetches
// and completions in batches, a local queue, no logging. NODE_PATH must lead to
// the packages.

'use strict';

const fs = require('fs');
const {execFileSync} = require('child_process');

const flags = {
  part: 'polls',
  waits: '100000',
  batch: '4000',
  time: '8',
};
for (const argument of process.argv.slice(2)) {
  const [, name, value] = /^--([a-z_]+)=(.*)$/.exec(argument);
  flags[name] = value;
}

const kName = 'thing';
const kWaits = Number(flags.waits);
const kBatch = Number(flags.batch);
const kInFlight = 8;
const kTicks = Number(execFileSync('getconf', ['CLK_TCK']));

const sleep = (millis) => new Promise((resolve) => setTimeout(resolve, millis));
const key = (i) => 'i-' + String(i).padStart(17, '0');
const delay = () => 700 + Math.random() * 600;

// Returns the processor time of the process `flags.server` and its children,
// including children that have ended, or of this process without that flag.
function cpuMicros() {
  if (!flags.server) {
    const {user, system} = process.cpuUsage();
    return user + system;
  }
  let ticks = 0;
  for (const entry of fs.readdirSync('/proc')) {
    let text;
    try {
      text = fs.readFileSync(`/proc/${entry}/stat`, 'utf8');
    } catch (error) {
      continue;  // Not a process, or it has ended.
    }
    // The first of these is the state, the third field of the file.
    const fields = text.slice(text.lastIndexOf(')') + 2).split(' ').map(Number);
    if (entry === flags.server) {
      ticks += fields[11] + fields[12] + fields[13] + fields[14];
    } else if (fields[1] === Number(flags.server)) {
      ticks += fields[11] + fields[12];
    }
  }
  return 1e6 * ticks / kTicks;
}

// Calls `add` for batches of numbers, several at a time.
async function addAll(count, batch, add) {
  let next = 0;
  const run = async () => {
    while (next < count) {
      const from = next;
      next = Math.min(count, next + batch);
      await add(Array.from({length: next - from}, (_, i) => key(from + i)));
    }
  };
  await Promise.all(Array.from({length: kInFlight}, run));
}

// Collects the items that are added in one turn of the loop, or while a call is
// in flight.
function inBatches(call) {
  let waiting = [];
  let inFlight = 0;
  const flush = async () => {
    if (waiting.length === 0 || inFlight >= 4) return;
    const batch = waiting;
    waiting = [];
    ++inFlight;
    try {
      await call(batch.map(([item]) => item));
      for (const [, done] of batch) done();
    } finally {
      --inFlight;
      setImmediate(flush);
    }
  };
  return (item) => new Promise((resolve) => {
    if (waiting.push([item, resolve]) === 1) setImmediate(flush);
  });
}

async function measure(count, run) {
  const cpu = cpuMicros();
  const start = process.hrtime.bigint();
  const before = count();
  await run();
  const made = count() - before;
  const seconds = Number(process.hrtime.bigint() - start) / 1e9;
  console.log(`${(made / seconds).toFixed(0)} ` +
              `${((cpuMicros() - cpu) / made).toFixed(1)}`);
  process.exit(0);
}

// `queue` has `addMany(keys, millis)` and `poll(polled)`, which begins to process
// jobs and calls `polled` for each of them.
async function main(queue) {
  if (flags.part === 'enqueue') {
    await queue.addMany([key(kWaits)], () => 36e6);
    await measure(() => kWaits * added, async () => {
      await addAll(kWaits, kBatch, (keys) => queue.addMany(keys, () => 100e3));
      added = 1;
    });
  }
  await addAll(kWaits, 4000,
               (keys) => queue.addMany(keys, () => 1000 * Math.random()));
  let polls = 0;
  await queue.poll(() => ++polls);
  await sleep(4000);
  await measure(() => polls, () => sleep(1000 * Number(flags.time)));
}
let added = 0;

// Runs one job at a time, as plainjob's worker does. Its only batch call is
// `addMany`, which takes one delay for all jobs.
async function plainjob() {
  const Database = require('better-sqlite3');
  const {better, defineQueue, defineWorker} = require('plainjob');
  const quiet = {error: console.error, warn() {}, info() {}, debug() {}};
  const queue =
      defineQueue({connection: better(new Database(flags.file)), logger: quiet});
  return {
    async addMany(keys, millis) {
      // Adds jobs with several delays, so that not all become due together.
      const size = flags.part === 'enqueue' ? keys.length : 100;
      for (let i = 0; i < keys.length; i += size) {
        queue.addMany(kName, keys.slice(i, i + size).map((id) => ({id})),
                      {delay: Math.round(millis())});
      }
      await sleep(0);
    },
    async poll(polled) {
      let turns = 0;
      const worker = defineWorker(kName, async (job) => {
        queue.add(kName, JSON.parse(job.data), {delay: Math.round(delay())});
        polled();
        // The worker never sleeps, so timers would not run.
        if (++turns % 1000 === 0) await sleep(0);
      }, {queue, logger: quiet, pollIntervall: 1});
      worker.start();
    },
  };
}

// Fetches, adds and completes in batches, in a few loops at a time.
async function pgBoss() {
  const PgBoss = require('pg-boss');
  const boss = new PgBoss({
    connectionString: flags.url,
    max: 10,
    supervise: true,
    schedule: false,
  });
  boss.on('error', (error) => console.error(error.message));
  await boss.start();
  await boss.createQueue(kName);
  const job = (data, millis) => ({
    name: kName,
    data,
    startAfter: new Date(Date.now() + millis),
  });
  return {
    addMany: (keys, millis) =>
        boss.insert(keys.map((id) => job({id}, millis()))),
    async poll(polled) {
      const loop = async () => {
        for (;;) {
          const jobs = await boss.fetch(kName, {batchSize: 1000});
          if (jobs.length === 0) {
            await sleep(10);
            continue;
          }
          await boss.insert(jobs.map(({data}) => job(data, delay())));
          await boss.complete(kName, jobs.map(({id}) => id));
          jobs.forEach(polled);
        }
      };
      for (let i = 0; i < 4; ++i) loop();
    },
  };
}

async function graphileWorker() {
  const {Logger, makeWorkerUtils, run} = require('graphile-worker');
  const logger = new Logger(() => () => {});
  const utils = await makeWorkerUtils({connectionString: flags.url, logger});
  await utils.migrate();
  const spec = ({id, millis}) => ({
    identifier: kName,
    payload: {id},
    runAt: new Date(Date.now() + millis),
  });
  const add = inBatches((jobs) => utils.addJobs(jobs.map(spec)));
  return {
    addMany: (keys, millis) =>
        utils.addJobs(keys.map((id) => spec({id, millis: millis()}))),
    async poll(polled) {
      await run({
        preset: {
          worker: {
            connectionString: flags.url,
            maxPoolSize: 10,
            concurrentJobs: 1000,
            pollInterval: 50,
            localQueue: {size: 2000},
            completeJobBatchDelay: 0,
            failJobBatchDelay: 0,
            logger,
          },
        },
        noHandleSignals: true,
        taskList: {
          async [kName]({id}) {
            await add({id, millis: delay()});
            polled();
          },
        },
      });
    },
  };
}

const kQueues = {
  'plainjob': plainjob,
  'pg-boss': pgBoss,
  'graphile-worker': graphileWorker,
};

kQueues[flags.queue]().then(main).catch((error) => {
  console.error(error);
  process.exit(1);
});
