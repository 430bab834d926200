// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// Does the same as waiter_member.cc, with BullMQ: a job for each wait, whose
// processor calls `moveToDelayed`. Takes the same flags.

'use strict';

const fs = require('fs');
const readline = require('readline');
const {DelayedError, Queue, Worker} = require('bullmq');

const flags = {};
for (const argument of process.argv.slice(2)) {
  const [, name, value] = /^--([a-z_]+)(?:=(.*))?$/.exec(argument);
  flags[name] = value === undefined ? true : value;
}

function millis(name) {
  const [, number, unit] = /^([0-9.]+)(ms|s|h)?$/.exec(flags[name] || '0');
  return Number(number) * {ms: 1, s: 1e3, h: 3600e3}[unit || 's'];
}

const connection = {
  host: '127.0.0.1',
  port: Number(flags.port),
  maxRetriesPerRequest: null,
};
const kName = 'thing';
const kInFlight = 8;

function cpuMicros() {
  const {user, system} = process.cpuUsage();
  return user + system;
}

async function add() {
  const queue = new Queue(kName, {
    connection,
    defaultJobOptions: {removeOnComplete: true},
  });
  await queue.waitUntilReady();
  const count = Number(flags.count);
  const batch = Number(flags.batch || 250);
  const cpu = cpuMicros();
  const start = process.hrtime.bigint();
  let next = 0;
  const addAll = async () => {
    while (next < count) {
      const jobs = [];
      for (const end = Math.min(count, next + batch); next < end; ++next) {
        jobs.push({
          name: 'poll',
          data: {},
          opts: {
            jobId: 'i-' + String(next).padStart(17, '0'),
            delay: Math.round(
                millis('first_delay') + Math.random() * millis('spread')),
          },
        });
      }
      await queue.addBulk(jobs);
    }
  };
  await Promise.all(Array.from({length: kInFlight}, addAll));
  const wall = Number((process.hrtime.bigint() - start) / 1000n);
  console.log(`count=${count} wall_us=${wall} cpu_us=${cpuMicros() - cpu}`);
  process.exit(0);
}

function work() {
  const least = millis('least');
  const most = millis('most');
  const log = flags.log ? fs.openSync(flags.log, 'a') : -1;
  const due = new Map();
  let late = [];
  let polls = 0;
  let ended = 0;
  const poll = async (job, token) => {
    ++polls;
    if (flags.ends) {
      ++ended;
      return 'done';
    }
    if (log >= 0) {
      // The worker holds the job, as Waiter holds waits with short delays.
      for (;;) {
        fs.writeSync(log, `${job.id} ${Math.round(Date.now() * 1000)}\n`);
        await new Promise(
            (resolve) =>
                setTimeout(resolve, least + Math.random() * (most - least)));
      }
    }
    const now = Date.now();
    const next = now + Math.round(least + Math.random() * (most - least));
    if (flags.lateness) {
      if (due.has(job.id)) late.push((now - due.get(job.id)) * 1000);
      due.set(job.id, next);
    }
    await job.moveToDelayed(next, token);
    throw new DelayedError();
  };
  const worker = new Worker(kName, poll, {
    connection,
    concurrency: Number(flags.concurrency || 100),
    removeOnComplete: {count: 0},
  });
  worker.on('error', (error) => console.error(error.message));
  const lines = readline.createInterface({input: process.stdin});
  lines.on('line', () => {
    late.sort((a, b) => a - b);
    const quantile = (percent) =>
        late.length ? late[Math.floor((late.length - 1) * percent / 100)] : 0;
    console.log(
        `polls=${polls} ended=${ended} cpu_us=${cpuMicros()} ` +
        `late=${late.length} late_p50_us=${quantile(50)} ` +
        `late_p99_us=${quantile(99)}`);
    late = [];
  });
  lines.on('close', () => process.exit(0));
}

if (flags.role === 'add') {
  add();
} else {
  work();
}
