// One block in detail: opened by click, by keyboard and by link, on a recording, an opened report and a measurement;
// its values equal the report's, its charts can be saved, and missing measures are listed.
import assert from 'node:assert/strict';

import { assertClose, digits, visit } from './driver.mjs';
import { leaves } from './files.mjs';

const FIRST = { webgpu: false, query: { v: '1', view: 'profile' } };

const recorded = async (name = 'demo-gpt2') => (await fetch(new URL(`data/recorded/${name}.json`, process.env.STRAIGHTEDGE_URL))).json();
const plain = (text) => Number(text.replace('−', '-').replace('×', ''));
const field = (app, name) => digits(app.element('block-numbers').locator(`[data-field=${name}]`));
const titled = (app, words) => app.page.locator('.plot').filter({ has: app.page.locator('h3', { hasText: words }) });

/** Fails unless two lists are equal except for the last digit, which parsing a report can change. */
function same(what, found, expected) {
  assert.equal(found.length, expected.length, what);
  for (const [at, value] of expected.entries()) assertClose(`${what} ${at}`, found[at], value, 1e-15 * Math.max(1, Math.abs(value)));
}

/** The full-precision points of a figure, by its title. */
async function points(app, words) {
  const at = (await titled(app, words).getAttribute('data-testid')).replace('figure-', '');
  const { chart } = JSON.parse((await app.saved(`json-${at}`)).bytes.toString());
  return chart.series.map((series) => series.points);
}

async function open(app, report) {
  await app.element('report-file').setInputFiles({
    name: 'report.json', mimeType: 'application/json', buffer: Buffer.from(JSON.stringify(report)),
  });
}

visit('a click on a block of the recording shows all of it, and arrow keys go on', FIRST, async (app) => {
  const { blocks } = await recorded();
  const chart = await app.element('chart').boundingBox();
  await app.page.mouse.click(chart.x + chart.width * 0.45, chart.y + chart.height / 2);
  await app.element('detail').waitFor();
  assert.equal(await app.element('tab-block').getAttribute('aria-selected'), 'true');
  const block = Number((await app.element('block-title').innerText()).match(/^Block (\d)$/)[1]);
  assert.ok(block === 2 || block === 3, `${block} is in the middle`);
  await app.page.waitForFunction((block) => location.search.includes(`view=block&block=${block}`), block);
  assert.ok(await app.element('formulas').locator('math').count() === 2);
  assert.match(await app.element('formulas').innerText(), /GELU/);
  for (const name of ['r2_lin', 'r2_feature_median', 'rank', 'effective_rank']) assertClose(name, await field(app, name), blocks[block][name], 1e-15);

  await app.element('strip').focus();
  await app.page.keyboard.press('Home');
  for (const [at, expected] of blocks.entries()) {
    assert.equal(await app.element('block-title').innerText(), `Block ${at}`);
    assertClose(`block ${at}`, await field(app, 'r2_lin'), expected.r2_lin, 1e-15);
    assert.match(await app.element('strip').getAttribute('aria-valuetext'), new RegExp(`^Block ${at} of 5, R² `));
    await app.page.keyboard.press('ArrowRight');
  }
  assert.equal(await app.element('block-title').innerText(), 'Block 5', 'keys stop at the end');
  await app.element('strip').locator('[data-block="1"]').click();
  assert.equal(await app.element('block-title').innerText(), 'Block 1');
});

visit('the figures of a block are those of its report', { webgpu: false, query: { model: 'demo-gpt2-step1024', view: 'block', block: '4' } }, async (app) => {
  const report = await recorded('demo-gpt2-step1024');
  const block = report.blocks[4];
  await app.element('detail').waitFor();
  assert.equal(await app.element('block-title').innerText(), 'Block 4');
  const [features] = await points(app, 'feature by feature');
  assert.equal(features.reduce((sum, { y }) => sum + y, 0), block.r2_features.filter((value) => value !== null).length);
  for (const { x, y } of features.slice(1)) {
    assert.equal(y, block.r2_features.filter((value) => value !== null && Math.floor(value / 0.05) === Math.floor(x / 0.05)).length, `near ${x}`);
  }
  const [ranks] = await points(app, 'R² of the best map of every rank');
  same('rank', ranks.map(({ y }) => y), block.r2_rank);
  const [swaps] = await points(app, 'what each replacement costs');
  same('swap', swaps.map(({ y }) => y), ['linear', 'mean', 'zero'].map((name) => block.delta_ppl[name]));
  assert.match(await app.element('block-missing').innerText(), /recording lacks rank losses and the probes for this block/);
});

visit('every figure of a block leaves as picture, table and data', { webgpu: false, query: { view: 'block' } }, async (app) => {
  await app.element('detail').waitFor();
  const count = await app.page.locator('.detail .plot').count();
  assert.ok(count >= 3, `${count} figures`);
  for (let at = 0; at < count; at += 1) {
    const { title, picture } = await leaves(app, at);
    assert.match(picture.text, /^Block 0: /, title);
    if (title.includes('eature by feature')) assert.ok(picture.bars >= 3, `${picture.bars} columns`);
  }
});

visit('a report of an earlier version is opened, and it is told what to do about what it lacks', FIRST, async (app) => {
  const report = await recorded('demo-llama');
  delete report.ordered;
  for (const block of report.blocks) {
    delete block.spectrum;
    delete block.scatter;
    block.delta_ppl = {};
    block.probes = {};
  }
  await open(app, report);
  await app.element('replay').waitFor();
  await app.view('block');
  assert.match(await app.element('block-older').innerText(), /a version that did not store spectra and predictions\. Measure again/);
  assert.match(await app.element('block-missing').innerText(), /report lacks swap losses, rank losses and the probes for this block/);
  assert.match(await app.element('formulas').innerText(), /SiLU/);
  assert.equal(await titled(app, 'spectrum').count(), 0);
  assert.equal(await titled(app, 'feature by feature').count(), 1);
});

visit('what a block lacks is added from its own page', { webgpu: false }, async (app) => {
  await app.choose({ rows: 1280, 'seq-len': 64 });
  await app.measure();
  await app.element('chart').focus();
  await app.page.keyboard.press('Home');
  await app.page.keyboard.press('Enter');
  await app.element('detail').waitFor();
  assert.equal(await titled(app, 'what each replacement costs').count(), 0);
  await app.element('measure-swap').click();
  assert.equal(await app.ended(), 'finished');
  const report = await app.report();
  const [swaps] = await points(app, 'what each replacement costs');
  assert.deepEqual(swaps.map(({ y }) => y), ['linear', 'mean', 'zero'].map((name) => report.blocks[0].delta_ppl[name]));
  assert.equal(await app.element('measure-swap').count(), 0);
  assert.equal(await app.element('block-older').count(), 0);
  const { spectrum, scatter: { actual, predicted } } = report.blocks[0];
  const [covariance, correlation] = await points(app, 'spectrum');
  assert.deepEqual(covariance.map(({ x }) => x), spectrum.k);
  assert.deepEqual(covariance.map(({ y }) => y), spectrum.covariance);
  assert.deepEqual(correlation.map(({ y }) => y), spectrum.correlation);
  const [values, exact] = await points(app, 'predicted against actual');
  assert.deepEqual(values.map(({ x, y }) => [x, y]), actual.map((value, at) => [value, predicted[at]]));
  assert.ok(exact.every(({ x, y }) => x === y));
  assert.ok(actual.length >= 100 && actual.every((value, at) => Math.abs(value - predicted[at]) < 1e-3), 'block 0 is exactly affine');
  assert.deepEqual(report.ordered.measures, ['fit', 'swap']);
  const count = await app.page.locator('.detail .plot').count();
  assert.ok(count >= 5, `${count} figures`);
  for (let at = 0; at < count; at += 1) await leaves(app, at);
});

visit('a link that hides the views keeps to the profile', { webgpu: false, query: { hide: 'views' } }, async (app) => {
  await app.element('chart').focus();
  await app.page.keyboard.press('Home');
  await app.page.keyboard.press('Enter');
  await app.element('chart').click();
  assert.equal(await app.element('detail').count(), 0);
});

visit('a held-out row passes through the drawing of a block, and is found in the scatter', { webgpu: false, query: { view: 'block', block: '1' } }, async (app) => {
  const { blocks: [, block] } = await recorded();
  const two = (value) => value.toFixed(2).replace(/^-0.00$/, '0.00').replace('-', '−');
  const says = (row) => {
    const [actual, predicted] = [block.scatter.actual[row], block.scatter.predicted[row]];
    const feature = Math.floor((0.618033988749895 * row % 1) * block.r2_features.length);
    return `Row ${row + 1} of 192 in block 1: feature ${feature} of y is ${two(actual)} σ, the linear map gives ${two(predicted)} σ, and ${two(actual - predicted)} σ is left.`;
  };
  assert.equal(await app.element('mechanism-values').innerText(), says(0));
  await app.element('mechanism-previous').click();
  await app.waitForText('mechanism-values', says(191));
  for (let row = 0; row < 3; row += 1) await app.element('mechanism-next').click();
  await app.waitForText('mechanism-values', says(2));
  const drawing = app.element('mechanism-drawing');
  assert.match(await drawing.locator('svg:visible').textContent(), /row 3.*residual stream.*norm.*x128 numbers.*512 units.*y.*ŷ = Wᵀx \+ b/s);
  for (const go of [() => app.element('mechanism-scatter').click(), () => drawing.click()]) {
    await go();
    const figure = titled(app, 'Predicted against actual');
    await figure.locator('.chart:focus').waitFor();
    const said = await figure.locator('.readout').innerText();
    const [predicted, actual] = said.match(/[−\d.e]+(?=,|$)/g).map(plain);
    assertClose(said, actual, block.scatter.actual[2], 1e-9);
    assertClose(said, predicted, block.scatter.predicted[2], 1e-9);
    const box = await figure.locator('.chart').boundingBox();
    assert.ok(box.y >= -1 && box.y < 900, `in view: ${JSON.stringify(box)}`);
    await app.page.evaluate(() => { document.activeElement.blur(); scrollTo(0, 0); });
  }

  await app.element('lesson-open').click();
  await app.element('step-title-1').waitFor();
  assert.match(await app.page.locator('.step:visible').getByTestId('mechanism-values').innerText(), /^Row 3 of 192 in block 1/);
});
