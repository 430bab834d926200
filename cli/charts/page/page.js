// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// Draws every chart of `input` into its own figure, below the command that made the page and its scenario. The
// attributes `data-charts` of the body and `data-marks` of a figure count charts and marks, for tests.

function Add(parent, tag, text = '') {
  const element = document.createElement(tag);
  element.textContent = text;
  parent.append(element);
  return element;
}

// Returns what a chart shows, for people who do not see it.
function LabelOf(spec) {
  const {text = '', subtitle = ''} = spec.title ?? {};
  return [text, subtitle].flat().filter(part => part !== '').join('. ');
}

// Adds the rows of a data set as a table. It is made when it is first opened, as it may be long.
function AddTable(figure, name, rows) {
  if (rows.length === 0) return;
  const details = Add(figure, 'details');
  Add(details, 'summary', `Data: ${name}`);
  details.addEventListener('toggle', () => {
    const scroller = Add(details, 'div');
    scroller.className = 'data';
    scroller.tabIndex = 0;
    scroller.setAttribute('role', 'region');
    scroller.setAttribute('aria-label', `Data: ${name}`);
    const table = Add(scroller, 'table');
    const columns = [...new Set(rows.flatMap(Object.keys))];
    const head = table.createTHead().insertRow();
    for (const column of columns) Add(head, 'th', column).scope = 'col';
    const body = table.createTBody();
    for (const row of rows) {
      const cells = body.insertRow();
      for (const column of columns) cells.insertCell().textContent = row[column] ?? '';
    }
  }, {once: true});
}

async function AddChart(main, {chart, data}) {
  const spec = structuredClone(specs[chart]);
  for (const [name, rows] of Object.entries(data)) {
    spec.data.find(set => set.name === name).values = rows;
  }
  const figure = Add(main, 'figure');
  figure.id = chart;
  const container = Add(figure, 'div');
  container.className = 'chart';
  // The keyboard scrolls it.
  container.tabIndex = 0;
  const view = new vega.View(vega.parse(spec), {renderer: 'svg', container, hover: true});
  await view.description(LabelOf(spec)).background('transparent').runAsync();
  figure.dataset.marks = container.querySelectorAll('.role-mark path, .role-mark text').length;
  for (const [name, rows] of Object.entries(data)) AddTable(figure, name, rows);
}

(async () => {
  const main = document.querySelector('main');
  document.title = input.command;
  Add(Add(main, 'h1'), 'code', input.command);
  if (input.scenario !== '') Add(main, 'p', input.scenario);
  for (const chart of input.charts) await AddChart(main, chart);
  document.body.dataset.charts = input.charts.length;
})();
