// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// Draws every chart of `charts` into its own element. The attributes
// `data-charts` and `data-marks` of the body count charts and marks, for tests.
(async () => {
  const count = {charts: 0, marks: 0};
  for (const {chart, data} of charts) {
    const spec = structuredClone(specs[chart]);
    for (const [name, rows] of Object.entries(data)) {
      spec.data.find(set => set.name === name).values = rows;
    }
    const element = document.createElement('figure');
    element.id = chart;
    document.body.append(element);
    const view = new vega.View(vega.parse(spec), {renderer: 'svg', container: element, hover: true});
    await view.runAsync();
    element.dataset.marks = element.querySelectorAll('.role-mark path, .role-mark text').length;
    count.charts += 1;
    count.marks += Number(element.dataset.marks);
  }
  document.body.dataset.charts = count.charts;
  document.body.dataset.marks = count.marks;
})();
