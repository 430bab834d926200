// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// Compares durable waits in a file and in PostgreSQL with job queues of npm,
// and prints a table for README.md:
//
//   npm install --prefix /tmp/queues plainjob better-sqlite3 pg-boss@10 \
//       graphile-worker@0.17
//   ./bazelw build -c opt //bench/distributed:{sqlite,postgres}_costs
//   node bench/distributed/queue_costs.js --packages=/tmp/queues
//
// Starts a PostgreSQL server for itself. All members of a part run one after
// the other, round by round, each with an empty file or database; the figures
// are medians of the rounds.

'use strict';

const fs = require('fs');
const os = require('os');
const path = require('path');
const {execFileSync, spawn, spawnSync} = require('child_process');

const flags = {
  folder: '/var/tmp',
  rounds: '3',
  waits: '100000',
  enqueues: '100000',
  time: '8',
  only: '',
  binaries: path.join(__dirname, '../../bazel-bin/bench/distributed'),
};
for (const argument of process.argv.slice(2)) {
  const [, name, value] = /^--([a-z_]+)=(.*)$/.exec(argument);
  flags[name] = value;
}

function output(command, args, env = {}) {
  const done = spawnSync(command, args, {
    env: {...process.env, ...env},
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  if (done.status !== 0) throw new Error(`${command} ${args.join(' ')} failed`);
  return done.stdout;
}

// A server with its data in the folder.
class Server {
  constructor() {
    const versions = fs.readdirSync('/usr/lib/postgresql');
    this.programs = `/usr/lib/postgresql/${versions.sort().pop()}/bin`;
    this.folder = fs.mkdtempSync(path.join(flags.folder, 'queues-'));
    this.port = 20000 + process.pid % 20000;
    this.url = `postgres://bench@127.0.0.1:${this.port}/bench`;
    this.prefix = [];
    if (process.getuid() === 0) {
      execFileSync('chown', ['postgres', this.folder]);
      this.prefix = ['setpriv', '--reuid', 'postgres', '--regid', 'postgres',
                     '--clear-groups'];
    }
    this.run(['initdb', '-D', `${this.folder}/data`, '-U', 'bench', '-A',
              'trust']);
    const [command, ...args] = this.words(
        ['postgres', '-D', `${this.folder}/data`, '-p', `${this.port}`, '-h',
         '127.0.0.1', '-k', this.folder, '-c', 'shared_buffers=1GB', '-c',
         'max_wal_size=4GB']);
    this.process = spawn(command, args, {stdio: 'ignore'});
    this.pid = this.process.pid;
  }
  words([program, ...args]) {
    return [...this.prefix, `${this.programs}/${program}`, ...args];
  }
  run(words) {
    const [command, ...args] = this.words(words);
    return spawnSync(command, args, {stdio: ['ignore', 'ignore', 'ignore']});
  }
  // Makes an empty database, once the server answers.
  reset() {
    const psql = (sql) =>
        this.run(['psql', '-Xq', '-v', 'ON_ERROR_STOP=1', '-h', '127.0.0.1',
                  '-p', `${this.port}`, '-U', 'bench', '-d', 'postgres', '-c',
                  sql]);
    while (psql('DROP DATABASE IF EXISTS bench WITH (FORCE)').status !== 0) {
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 200);
    }
    if (psql('CREATE DATABASE bench').status !== 0 ||
        psql('CHECKPOINT').status !== 0) {
      throw new Error('no database');
    }
  }
  stop() {
    this.process.kill('SIGQUIT');
    fs.rmSync(this.folder, {recursive: true, force: true});
  }
}

function median(values) {
  return values.sort((a, b) => a - b)[Math.floor((values.length - 1) / 2)];
}

// Runs Waiter once, and returns [per second, microseconds].
function waiter(store, part, args) {
  const waits = part === 'polls' ? flags.waits : flags.enqueues;
  const table = output(`${flags.binaries}/${store}_costs`, [
    '--rounds=1', `--waits=${waits}`, `--time=${flags.time}s`,
    `--only=${part}`, ...args]);
  // The rows for plainjob do not sync, and the rows for PostgreSQL do.
  const row = table.split('\n').find(
      (line) => part === 'polls' ?
          /^\| polls(, synchronous=NORMAL)? \|/.test(line) :
          /^\| enqueues, batches of 4000(, synchronous=NORMAL)? \|/.test(line));
  const [, , perSecond, cpu] = row.split('|');
  return [Number(perSecond), parseFloat(cpu)];
}

function member(queue, part, args) {
  const waits = part === 'polls' ? flags.waits : flags.enqueues;
  const text = output(
      process.execPath,
      [path.join(__dirname, 'queue_member.js'), `--queue=${queue}`,
       `--part=${part}`, `--waits=${waits}`, `--time=${flags.time}`, ...args],
      {NODE_PATH: path.join(flags.packages, 'node_modules')});
  return text.trim().split(' ').map(Number);
}

function version(name) {
  const file = path.join(flags.packages, 'node_modules', name, 'package.json');
  return `${name} ${JSON.parse(fs.readFileSync(file)).version}`;
}

// Runs all members in turn, and prints Waiter compared with each.
function compare(what, part, owner, queues, targets, runs) {
  const found = runs.map(() => []);
  for (let round = 0; round < Number(flags.rounds); ++round) {
    runs.forEach((run, i) => {
      found[i].push(run());
      console.error(`  ${what}: ${['Waiter', ...queues][i]} ` +
                    found[i][found[i].length - 1].join('/s '));
    });
  }
  const figures = found.map(
      (rounds) => [0, 1].map((i) => median(rounds.map((row) => row[i]))));
  const verdict = (isMet) => isMet ? 'ok' : 'short';
  queues.forEach((queue, i) => {
    const [ours, theirs] = [figures[0], figures[i + 1]];
    const rate = ours[0] / theirs[0];
    const cpu = ours[1] / theirs[1];
    const noun = part === 'polls' ? 'poll' : 'enqueue';
    const [most, share] = targets;
    console.log(`| ${what}, per second | ${ours[0]} | ${version(queue)} | ` +
                `${theirs[0]} | ${rate.toFixed(1)}x | >= ${most}x | ` +
                `${verdict(rate >= most)} |`);
    console.log(`| ${owner} CPU per ${noun} | ${ours[1]} us | ` +
                `${version(queue)} | ${theirs[1]} us | ${cpu.toFixed(2)}x | ` +
                (share ? `<= ${share}x | ${verdict(cpu <= share)} |` : '| |'));
  });
}

function wants(part) {
  return flags.only === '' || flags.only.split(',').includes(part);
}

function sqlite() {
  const file = path.join(flags.folder, `queues-${process.pid}.db`);
  const clean = () => ['', '-wal', '-shm'].forEach(
      (suffix) => fs.rmSync(file + suffix, {force: true}));
  const targets = {polls: [5], enqueue: [3]};
  for (const part of ['polls', 'enqueue']) {
    if (!wants(`sqlite_${part}`)) continue;
    compare(`SQLite: ${part === 'polls' ? 'polls' : 'enqueues'}`, part,
            'process', ['plainjob'], targets[part], [
              () => waiter('sqlite', part, [`--folder=${flags.folder}`]),
              () => {
                clean();
                return member('plainjob', part, [`--file=${file}`]);
              },
            ]);
  }
  clean();
}

function postgres() {
  const parts = ['polls', 'enqueue'].filter((part) => wants(`postgres_${part}`));
  if (parts.length === 0) return;
  const server = new Server();
  try {
    const args = [`--url=${server.url}`, `--server=${server.pid}`];
    const fresh = (run) => () => {
      server.reset();
      return run();
    };
    const queues = ['pg-boss', 'graphile-worker'];
    for (const part of parts) {
      compare(`PostgreSQL: ${part === 'polls' ? 'polls' : 'enqueues'}`, part,
              'server', queues, part === 'polls' ? [3, 0.2] : [3], [
                fresh(() => waiter('postgres', part, args)),
                ...queues.map((queue) => fresh(() => member(queue, part, args))),
              ]);
    }
  } finally {
    server.stop();
  }
}

console.log('| | Waiter | compared with | | ratio | target | |');
console.log('| --- | ---: | --- | ---: | ---: | --- | --- |');
sqlite();
postgres();
console.error(`load average ${os.loadavg().map((x) => x.toFixed(1))}`);
