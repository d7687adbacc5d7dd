// Charts taken away: each file is opened and its values are those of the chart and the table.
import assert from 'node:assert/strict';

import { assertClose, visit } from './driver.mjs';

const TABLE = { webgpu: false, query: {} };

/** A table of the page, numbers with plain minus signs and nothing for what is undefined. */
const shown = (app, table) => app.page.locator(table).evaluate((table) => [...table.rows].map((row) => [...row.cells].map(
  (cell) => cell.textContent.replace('−', '-').replace('\u202f', '').replace(/^–$/, '').replace('R²lin', 'R²_lin'),
)));

const parsed = (text) => text.trim().split('\r\n').map((line) => line.split(','));

/** What a browser makes of an SVG alone. */
const drawn = (app, svg) => app.page.evaluate((svg) => {
  const root = new DOMParser().parseFromString(svg, 'image/svg+xml').documentElement;
  const all = [...root.querySelectorAll('*')];
  return {
    name: root.nodeName,
    width: Number(root.getAttribute('width')),
    text: root.textContent,
    classes: all.filter((element) => element.hasAttribute('class')).length,
    dots: all.filter((element) => element.nodeName === 'circle').map((dot) => Number(dot.getAttribute('cy'))),
  };
}, svg);

/** Size of a picture, and how many of its pixels have the colour of the first series. */
const seen = (app, bytes) => app.page.evaluate(async (base64) => {
  const data = Uint8Array.from(atob(base64), (letter) => letter.charCodeAt(0));
  const picture = await createImageBitmap(new Blob([data], { type: 'image/png' }));
  const context = new OffscreenCanvas(picture.width, picture.height).getContext('2d');
  context.drawImage(picture, 0, 0);
  const { data: pixels } = context.getImageData(0, 0, picture.width, picture.height);
  let coloured = 0;
  for (let at = 0; at < pixels.length; at += 4) coloured += pixels[at] === 0 && pixels[at + 1] === 0x72 && pixels[at + 2] === 0xb2;
  return { width: picture.width, coloured, corner: [...pixels.slice(0, 4)] };
}, bytes.toString('base64'));

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
  await app.element('tab-losses').click();
  const csv = parsed((await app.saved('csv-0')).bytes.toString());
  await app.element('numbers-0').locator('summary').click();
  assert.deepEqual(csv, await shown(app, '[data-testid=numbers-0] table'));
  const picture = await drawn(app, (await app.saved('svg-0')).bytes.toString());
  assert.equal(picture.classes, 0);
  assert.ok((await seen(app, (await app.saved('png-0')).bytes)).coloured > 50);
  const marks = () => app.element('chart-0').locator('path.mark').count();
  const all = await marks();
  await app.element('figure-0').getByRole('button', { name: 'mean', exact: true }).click();
  assert.equal(await marks(), all - 6, 'a legend takes its series out');
  await app.element('figure-0').getByRole('button', { name: 'mean', exact: true }).click();
  assert.equal(await marks(), all);
  const data = JSON.parse((await app.saved('json-0')).bytes.toString());
  assert.ok(data.chart.series.length >= 3 && data.source.includes('Straightedge'));
});
