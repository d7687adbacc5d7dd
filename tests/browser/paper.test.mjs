// The paper's figures as presets: published and recorded values, by click and by link, with their sources; and links
// that carry a whole comparison.
import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';

import { assertClose, visit } from './driver.mjs';
import { leaves } from './files.mjs';

const FIRST = { webgpu: false, query: { view: 'profile' } };
const WEB = new URL('../../web/', import.meta.url);
const json = async (path) => JSON.parse(await readFile(new URL(path, WEB), 'utf8'));

const PRESETS = {
  survey: [['r2_lin_scalar', (model) => model.r2_lin_scalar['WikiText-2']]],
  kinds: [['r2_feature_median', (model) => model.r2_feature_median], ['effective_rank', (model) => model.effective_rank]],
  swaps: [['delta_ppl_linear', (model) => model.delta_ppl_linear], ['delta_ppl_poly', (model) => model.delta_ppl_poly]],
  curve: [['poly_gain', (model) => model.poly_gain]],
};

/** The full-precision series of a figure, by name. */
async function series(app, at) {
  const { chart } = JSON.parse((await app.saved(`json-${at}`)).bytes.toString());
  return Object.fromEntries(chart.series.map(({ name, points }) => [name, points.map(({ y }) => y)]));
}

visit('every figure of the paper shows what was published beside what is recorded', FIRST, async (app) => {
  const { models } = await json('data/published.json');
  const recordings = await json('data/recorded/index.json');
  await app.view('compare');
  for (const [preset, charts] of Object.entries(PRESETS)) {
    await app.element(`preset-${preset}`).click();
    for (const [at, [quantity, values]] of charts.entries()) {
      await app.element(`figure-${at}`).waitFor();
      assert.match(await app.element(`facts-${at}`).innerText(), /arXiv 2606\.19379.*figures 2 to 5/, preset);
      const shown = await series(app, at);
      for (const model of models) assert.deepEqual(shown[`${model.name} · WikiText-2 (published)`], values(model), `${preset} ${quantity}`);
      const own = recordings.find(({ name }) => name === 'demo-llama')[quantity];
      assert.deepEqual(shown['Demo Llama (recorded)'] ?? [], own, `${preset} ${quantity}`);
    }
  }
  const svg = (await app.saved('svg-0')).bytes.toString();
  assert.match(svg.replace(/<[^>]+>/g, ' '), /arXiv\s+2606\.19379/, 'a picture of published values cites them');
  await app.element('preset-corpora').click();
  await app.page.waitForFunction(() => document.querySelectorAll('[data-testid=runs] li').length === 3);
  const corpora = await series(app, 0);
  for (const [corpus, values] of Object.entries(models[0].r2_lin_scalar)) assert.deepEqual(corpora[`gpt2 · ${corpus} (published)`], values, corpus);
});

visit('figures of the paper leave as picture, table and data', { webgpu: false, query: { view: 'compare', compare: 'kinds' } }, async (app) => {
  await app.element('figure-1').waitFor();
  for (const at of [0, 1]) {
    const { picture } = await leaves(app, at);
    assert.match(picture.text, /gpt2 · WikiText-2 \(published\)/);
  }
});

visit('a whole comparison comes back from its link', { webgpu: false, query: { view: 'compare' } }, async (app) => {
  const items = () => app.element('runs').locator('li');
  await items().nth(2).waitFor();
  await app.element('preset-training').click();
  await app.page.waitForFunction(() => location.search.includes('compare=training'));
  await app.element('add').selectOption('published:gpt2:math puzzles');
  await items().filter({ hasText: 'gpt2 · math puzzles' }).waitFor();
  await items().nth(1).getByTestId('show').click();
  await app.element('front').fill('3');
  await app.element('quantity-3').click();
  await app.page.waitForFunction(() => ['runs', 'without', 'front', 'charts'].every((name) => new URLSearchParams(location.search).has(name)));
  const address = app.page.url();
  assert.ok(address.length < 700, address);
  const state = async () => ({
    names: await items().locator('.name').allInnerTexts(),
    hidden: await items().getByTestId('show').evaluateAll((all) => all.map((button) => button.ariaPressed)),
    front: await app.element('front-name').innerText(),
    charts: await app.page.locator('[data-testid^=quantity-][aria-pressed=true]').allInnerTexts(),
    figures: await app.page.locator('.plot h3').allInnerTexts(),
  });
  const before = await state();
  assert.ok(before.charts.length === 3 && before.hidden.includes('false'), JSON.stringify(before));
  await app.page.goto('about:blank');
  await app.page.goto(address);
  await app.started();
  await app.page.waitForFunction((count) => document.querySelectorAll('.plot h3').length === count, before.figures.length);
  await items().filter({ hasText: 'gpt2 · math puzzles' }).waitFor();
  assert.deepEqual(await state(), before);
  assert.equal(app.page.url(), address);
});

visit('hostile comparisons are refused in a sentence, and the page works', FIRST, async (app) => {
  const site = new URL(app.page.url());
  const hostile = {
    compare: 'everything', runs: 'measured:1', without: '<b>', front: 'recorded:../x', charts: 'r3', overlay: 'recorded:%00',
  };
  for (const [name, value] of Object.entries(hostile)) {
    site.search = new URLSearchParams({ view: 'compare', [name]: value }).toString();
    await app.page.goto(site.href);
    await app.started();
    assert.match(await app.error(), new RegExp(`${name} in this link`), name);
    assert.equal(await app.element('tab-compare').getAttribute('aria-selected'), 'true', 'the rest of the link holds');
    await app.element('runs').locator('li').nth(2).waitFor();
  }
  site.search = '?view=compare&runs=recorded:absent';
  await app.page.goto(site.href);
  await app.started();
  assert.match(await app.error(), /absent/);
  await app.element('runs').locator('li').nth(2).waitFor();
});

visit('the recording of another model is laid over by a link', { webgpu: false, query: { overlay: 'recorded:demo-neox' } }, async (app) => {
  const { blocks } = await json('data/recorded/demo-neox.json');
  await app.element('chart').locator('path.overlay:not(.line)').nth(5).waitFor();
  await app.element('chart').focus();
  await app.page.keyboard.press('End');
  const text = (await app.element('readout').innerText()).replace('−', '-');
  assertClose('readout', Number(text.match(/recorded: (-?[\d.]+)\./)[1]), blocks[5].r2_lin, 6e-7);
  assert.match(app.page.url(), /overlay=recorded:demo-neox/);
});
