#!/usr/bin/env node
// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// Opens every page of `--html` in headless Chromium, as people do: light and dark, wide and narrow, with the keyboard
// alone, and as a screen reader sees it. Each chart must have drawn marks, and the console must be clean. The test's
// outputs hold screenshots.
//
//   page_test.mjs WAITER LOG BENCH_REPORT

import {spawn, spawnSync} from 'node:child_process';
import {mkdtempSync, readFileSync, rmSync, writeFileSync} from 'node:fs';
import {tmpdir} from 'node:os';
import {dirname, join, resolve} from 'node:path';

const [waiter, log, benchReport] = process.argv.slice(2);
const scratch = mkdtempSync(join(tmpdir(), 'page_test-'));
const screenshots = process.env.TEST_UNDECLARED_OUTPUTS_DIR ?? scratch;
let failed = false;

function check(holds, text) {
  if (holds) return;
  console.log(`FAILED: ${text}`);
  failed = true;
}

// Chromium, which is driven through two pipes: https://chromedevtools.github.io/devtools-protocol/
class Browser {
  // The flags on networking keep Chromium from looking for its maker's hosts. A container may have a small /dev/shm and
  // no store for passwords.
  static #flags = [
    '--headless', '--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run', '--no-default-browser-check',
    '--disable-background-networking', '--disable-component-update', '--disable-sync', '--disable-extensions',
    '--disable-dev-shm-usage', '--password-store=basic', '--hide-scrollbars', '--remote-debugging-pipe',
    `--user-data-dir=${join(scratch, 'profile')}`, 'about:blank'
  ];
  #process;
  #next = 1;
  #waiting = new Map();
  #session;
  console = [];  // What pages have written there.

  static async start() {
    const browser = new Browser();
    browser.#process = spawn('chromium', Browser.#flags, {stdio: ['ignore', 'ignore', 'ignore', 'pipe', 'pipe']});
    browser.#process.on('exit', () => check(browser.#waiting.size === 0, 'Chromium has ended'));
    let received = Buffer.alloc(0);
    browser.#process.stdio[4].on('data', data => {
      received = Buffer.concat([received, data]);
      for (let end; (end = received.indexOf(0)) >= 0; received = received.subarray(end + 1)) {
        browser.#take(JSON.parse(received.subarray(0, end)));
      }
    });
    const {targetInfos} = await browser.send('Target.getTargets');
    const {targetId} = targetInfos.find(target => target.type === 'page');
    browser.#session = (await browser.send('Target.attachToTarget', {targetId, flatten: true})).sessionId;
    for (const domain of ['Page', 'Runtime', 'Log', 'Accessibility']) await browser.send(`${domain}.enable`);
    return browser;
  }

  #take({id, result, error, method, params}) {
    if (method === 'Runtime.consoleAPICalled') this.console.push(params.args.map(value => value.value).join(' '));
    if (method === 'Runtime.exceptionThrown') this.console.push(params.exceptionDetails.text);
    if (method === 'Log.entryAdded') this.console.push(params.entry.text);
    const done = this.#waiting.get(id);
    this.#waiting.delete(id);
    if (error) console.log(`FAILED: ${error.message}`);
    done?.(result);
  }

  send(method, params = {}) {
    const id = this.#next++;
    this.#process.stdio[3].write(`${JSON.stringify({id, method, params, sessionId: this.#session})}\0`);
    return new Promise(done => this.#waiting.set(id, done));
  }

  // Returns the value of `expression`, which may be a promise, in the page.
  async evaluate(expression) {
    const {result, exceptionDetails} =
        await this.send('Runtime.evaluate', {expression, awaitPromise: true, returnByValue: true});
    check(!exceptionDetails, exceptionDetails?.text);
    return result.value;
  }

  async press(key, code, text) {
    await this.send('Input.dispatchKeyEvent', {type: 'keyDown', key, code: key, windowsVirtualKeyCode: code, text});
    await this.send('Input.dispatchKeyEvent', {type: 'keyUp', key, code: key, windowsVirtualKeyCode: code});
  }

  async close() {
    await this.send('Browser.close');
  }
}

// Looks at the page in each scheme of colors and each width.
async function checkLook(browser, name) {
  for (const scheme of ['light', 'dark']) {
    for (const width of [360, 1000]) {
      const look = `${name}-${scheme}-${width}`;
      await browser.send('Emulation.setEmulatedMedia', {features: [{name: 'prefers-color-scheme', value: scheme}]});
      await browser.send(
          'Emulation.setDeviceMetricsOverride', {width, height: 1500, deviceScaleFactor: 1, mobile: false});
      check(await browser.evaluate('document.documentElement.scrollWidth') <= width, `${look}: wider than the window`);
      const {data} = await browser.send('Page.captureScreenshot', {format: 'png'});
      writeFileSync(join(screenshots, `${look}.png`), Buffer.from(data, 'base64'));
      // The share of pixels that are nearly black, and that are nearly white.
      const [black, white] = await browser.evaluate(`(async () => {
        const image = new Image();
        image.src = 'data:image/png;base64,${data}';
        await image.decode();
        const canvas = new OffscreenCanvas(image.width, image.height).getContext('2d');
        canvas.drawImage(image, 0, 0);
        const pixels = canvas.getImageData(0, 0, image.width, image.height).data;
        const count = [0, 0];
        for (let i = 0; i < pixels.length; i += 4) {
          const sum = pixels[i] + pixels[i + 1] + pixels[i + 2];
          if (sum < 150) ++count[0];
          if (sum > 3 * 255 - 150) ++count[1];
        }
        return count.map(each => each / pixels.length * 4);
      })()`);
      const [page, ink] = scheme === 'light' ? [white, black] : [black, white];
      check(page > 0.5 && ink > 0.002, `${look}: ${page} of it has the color of a page, and ${ink} that of text`);
    }
  }
}

// Opens the first table by the keyboard.
async function checkKeyboard(browser, name) {
  const focus = `document.activeElement.className || document.activeElement.localName`;
  const stops = [];
  while (stops.length < 20 && stops.at(-1) !== 'summary') {
    await browser.press('Tab', 9);
    stops.push(await browser.evaluate(focus));
  }
  check(stops.join(' ') === 'chart summary', `${name}: Tab stops at ${stops}`);
  await browser.press('Enter', 13, '\r');
  const [rows, expected] = await browser.evaluate(`new Promise(done => setTimeout(done)).then(() => [
    document.querySelectorAll('details[open] tbody tr').length,
    Object.values(input.charts[0].data).find(rows => rows.length > 0).length])`);
  check(rows === expected, `${name}: Enter shows ${rows} rows instead of ${expected}`);
}

async function checkLabels(browser, name) {
  const {nodes} = await browser.send('Accessibility.getFullAXTree');
  const named = role => nodes.filter(node => node.role?.value === role && node.name?.value);
  check(named('heading').length === 1, `${name}: no heading`);
  check(named('columnheader').length > 1, `${name}: no names of columns`);
  const labels = nodes.map(node => node.name?.value ?? '');
  for (const title of await browser.evaluate('input.charts.map(({chart}) => specs[chart].title.text)')) {
    check(labels.some(label => label.startsWith(`${title}. `)), `${name}: no label for the chart "${title}"`);
  }
}

// Checks the page of `program args`, which has `charts` charts, each with at least `least` marks.
async function checkPage(browser, name, charts, least, program, args) {
  const page = join(scratch, `${name}.html`);
  const {status, stdout, stderr} = spawnSync(program, [...args, `--html=${page}`], {encoding: 'utf8'});
  check(status === 0, `${name}: ${program} ${args.join(' ')}: ${stderr}`);
  if (status !== 0) return;
  check(!/(src|href)="(https?:)?\/\//.test(readFileSync(page, 'utf8')), `${name}: the page refers to another host`);
  browser.console = [];
  await browser.send('Page.navigate', {url: `file://${page}`});
  const [drawn, marks, title, scenario] = await browser.evaluate(`(async () => {
    for (let i = 0; i < 1500 && !document.body?.dataset.charts; ++i) await new Promise(done => setTimeout(done, 20));
    const figures = [...document.querySelectorAll('figure')];
    return [document.body.dataset.charts, figures.map(each => each.dataset.marks), document.querySelector('h1').innerText,
      document.querySelector('p')?.innerText ?? ''];
  })()`);
  check(drawn === String(charts), `${name}: ${drawn} charts instead of ${charts}`);
  check(marks.length === charts && marks.every(each => each >= least), `${name}: charts with ${marks} marks`);
  check(args.every(arg => title.includes(arg)), `${name}: the page is called ${title}`);
  const printed = stdout.split('\n\n')[0].replaceAll('\n', ' ');
  check(args[0] !== 'simulate' || scenario === printed, `${name}: the scenario is ${scenario} instead of ${printed}`);
  await checkLook(browser, name);
  await checkKeyboard(browser, name);
  await checkLabels(browser, name);
  check(browser.console.length === 0, `${name}: the console has ${browser.console.join('\n')}`);
  console.log(`${name}: ${drawn} charts`);
}

// Programs elsewhere look for waiter-page.
process.env.PATH = `${resolve(dirname(waiter))}:${process.env.PATH}`;
writeFileSync(join(scratch, 'bench.json'), JSON.stringify({
  context: {},
  benchmarks: [
    {name: 'BM_Wait/polls:1', cpu_time: 5, time_unit: 'ns'}, {name: 'BM_Wait/polls:1', cpu_time: 7, time_unit: 'ns'},
    {name: 'BM_Clock', cpu_time: 22, time_unit: 'ns'}
  ]
}));
const browser = await Browser.start();
const backoff = '--backoff=1s,2,30s';
await checkPage(browser, 'plan', 2, 2, waiter, ['plan', backoff]);
await checkPage(browser, 'expect', 4, 4, waiter, ['plan', '--expect=60s', backoff, '--jitter=full']);
await checkPage(
    browser, 'fleet', 1, 10, waiter, ['simulate', 'fleet', '--clients=200', '--polls-per-second=100', backoff]);
await checkPage(
    browser, 'budgets', 1, 10, waiter,
    ['simulate', 'budgets', '--processes=10', '--busy=5', '--polls-per-second=10', '--duration=30s']);
await checkPage(browser, 'contention', 1, 10, waiter, ['simulate', 'contention', '--clients=10,20,40', '--runs=5']);
await checkPage(browser, 'report', 1, 10, waiter, ['report', log]);
await checkPage(browser, 'benchmark', 1, 2, benchReport, [join(scratch, 'bench.json')]);
await browser.close();
rmSync(scratch, {recursive: true});
process.exitCode = failed ? 1 : 0;
