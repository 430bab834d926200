#!/usr/bin/env node
// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// Runs the executable in the package for this platform, which npm has installed as an optional dependency.

'use strict';

const {spawn} = require('node:child_process');
const {constants} = require('node:os');

const {name} = require('./package.json');
const platform = `${process.platform}-${process.arch}`;
let executable;
try {
  executable = require.resolve(`${name}-${platform}/waiter`);
} catch {
  console.error(
      `waiter: the package ${name}-${platform} is not installed: there is none for this platform, or npm was told ` +
      'to leave out optional dependencies');
  process.exit(125);
}

const args = process.argv.slice(2);
if (process.execve) {
  process.execve(executable, [executable, ...args]);
}
const child = spawn(executable, args, {stdio: 'inherit'});
for (const signal of ['SIGTERM', 'SIGHUP', 'SIGUSR1', 'SIGUSR2']) {
  process.on(signal, () => child.kill(signal));
}
// A terminal sends these to both.
for (const signal of ['SIGINT', 'SIGQUIT']) {
  process.on(signal, () => {});
}
child.on('exit', (code, signal) => {
  process.exitCode = code ?? 128 + constants.signals[signal];
});
