// Saved charts: each file is opened, and its values equal those of the chart and the table.
import assert from 'node:assert/strict';

import { assertClose, visit } from './driver.mjs';
import { drawn, leaves, parsed, seen, shown } from './files.mjs';

const TABLE = { webgpu: false, query: { view: 'profile' } };

visit('the profile leaves as pictures, table and data', TABLE, async (app) => {
  const svg = await app.saved('svg-profile');
  assert.match(svg.name, /^straightedge-linear-recoverability-by-block-demo-gpt2-tales-1\.svg$/);
  const picture = await drawn(app, svg.bytes.toString());
  assert.equal(picture.name, 'svg');
  assert.equal(picture.classes, 0, 'looks are written on the elements');
  assert.match(picture.text, /demo-gpt2.*tales:1.*14 ?976 rows/s);

  const data = JSON.parse((await app.saved('json-profile')).bytes.toString());
  const values = data.chart.series[0].points.map((point) => point.y);
  const recorded = await (await fetch(new URL('data/recorded/demo-gpt2.json', process.env.STRAIGHTEDGE_URL))).json();
  assert.equal(values.length, recorded.blocks.length);
  for (const [at, block] of recorded.blocks.entries()) assertClose(`block ${at}`, values[at], block.r2_lin, 1e-15);
  assert.equal(data.made.model.sha256, recorded.model.sha256);
  const slope = (at) => (picture.dots[at] - picture.dots[0]) / (values[at] - values[0]);
  for (let at = 1; at < values.length; at += 1) assertClose(`height of block ${at}`, slope(at) / slope(1), 1, 2e-3);

  const csv = await app.saved('csv-profile');
  const table = await shown(app, '[data-testid=table]');
  assert.deepEqual(parsed(csv.bytes.toString()), table);

  const png = await app.saved('png-profile');
  const pixels = await seen(app, png.bytes);
  assert.equal(pixels.width, 2 * picture.width);
  assert.deepEqual(pixels.corner, [255, 255, 255, 255]);
  assert.ok(pixels.coloured > 200, `${pixels.coloured} pixels of dots`);
});

visit('figures of other views leave as well', TABLE, async (app) => {
  for (const view of ['losses', 'regimes', 'ranks', 'controls', 'layers']) {
    await app.view(view);
    await app.element('figure-0').waitFor();
    const places = await app.page.locator('.plot').evaluateAll((plots) => plots.map(({ dataset }) => dataset.testid));
    for (const at of places.map((place) => place.replace('figure-', ''))) {
      const { data } = await leaves(app, at);
      assert.ok(data.source.includes('Straightedge') && data.made.model.id === 'demo-gpt2', view);
    }
  }
  await app.view('losses');
  const marks = () => app.element('chart-0').locator('path.mark').count();
  const all = await marks();
  await app.element('figure-0').getByRole('button', { name: 'mean', exact: true }).click();
  assert.equal(await marks(), all - 6, 'a legend takes its series out');
  await app.element('figure-0').getByRole('button', { name: 'mean', exact: true }).click();
  assert.equal(await marks(), all);
});

visit('figures of several measurements leave with where each line is from', TABLE, async (app) => {
  await app.view('compare');
  for (const preset of ['families', 'learned', 'training', 'seeds', 'regularised', 'fine-tuned']) {
    await app.element(`preset-${preset}`).click();
    await app.element('chart-0').locator('path.mark').first().waitFor();
    const { picture, csv } = await leaves(app, 0);
    assert.match(picture.text, /\(recorded\)/, preset);
    assert.ok(csv[0].length >= 3, preset);
  }
});

visit('a browser that cannot make a file says so', TABLE, async (app) => {
  const refused = app.element('exports-profile').getByRole('status');
  await app.page.evaluate(() => { HTMLCanvasElement.prototype.toBlob = (callback) => callback(null); });
  await app.element('png-profile').click();
  await refused.filter({ hasText: 'could not create' }).waitFor();
  await app.saved('svg-profile');
  assert.equal(await refused.innerText(), '', 'what was done since then went well');
});
