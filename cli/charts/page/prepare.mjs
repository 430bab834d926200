// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// Makes the sources of //cli:waiter-page in `generated`: the charts, compiled to
// Vega so that the page needs no compiler, and Vega itself. tools/page runs it.

import {copyFileSync, mkdirSync, readdirSync, readFileSync, writeFileSync} from 'node:fs';
import {compile} from 'vega-lite';

mkdirSync('generated', {recursive: true});
const specs = {};
for (const file of readdirSync('..').filter(name => name.endsWith('.vl.json')).sort()) {
  const chart = JSON.parse(readFileSync(`../${file}`, 'utf8'));
  const {spec} = compile(chart);
  for (const name of Object.keys(chart.datasets)) {
    if (!spec.data.some(data => data.name === name)) {
      throw new Error(`${file}: data set ${name} is not in the compiled chart; use it or remove it`);
    }
  }
  specs[file.replace('.vl.json', '')] = spec;
}
writeFileSync('generated/specs.json', `${JSON.stringify(specs)}\n`);
copyFileSync('node_modules/vega/build/vega.min.js', 'generated/vega.min.js');
copyFileSync('node_modules/vega/LICENSE', 'generated/LICENSE.vega');
