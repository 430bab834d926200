// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// Draws a filled chart as a picture: node svg.mjs < chart.vl.json > chart.svg

import {readFileSync, writeFileSync} from 'node:fs';
import * as vega from 'vega';
import * as vegaLite from 'vega-lite';

const {spec} = vegaLite.compile(JSON.parse(readFileSync(0, 'utf8')));
const view = new vega.View(vega.parse(spec), {renderer: 'none'});
writeFileSync(1, `${await view.background('white').toSVG()}\n`);
