// The views beyond the profile: measured from their buttons, with the values of an independent implementation, by
// keyboard alone, and cancelled without loss.
import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';

import { assertClose, digits, FIXTURES, visit } from './driver.mjs';

const MODEL = join(FIXTURES, 'tiny-llama');
const TEXT = join(FIXTURES, 'texts', 'encyclopedia.txt');

async function own(app, folder = MODEL) {
  await app.choose({ 'model-select': ':own' });
  await app.element('model-folder').setInputFiles(folder);
  await app.choose({ 'text-select': ':file' });
  await app.element('text-file').setInputFiles(TEXT);
}

/** Opens a view, presses its button, and returns the resulting report. */
async function add(app, view, measure) {
  await app.view(view);
  await app.order(app.element(`measure-${measure}`));
  assert.equal(await app.ended(), 'finished');
  return app.report();
}

/** A change of ppl is compared relative to the resulting perplexity. */
function assertLoss(what, found, expected, ppl) {
  assertClose(what, found, expected, 1e-3 * (ppl + expected));
}

visit('controls feed the rows of another model, named on the page or in a link', { webgpu: false, query: { model: 'demo-gpt2', rows: '2560' } }, async (app) => {
  await app.choose({ backend: 'cpu' });
  const plain = await app.measure();
  // Fed with its own rows, a model gives its own R².
  await app.view('controls');
  const feed = async (name) => { await app.element('feed').fill(name); await app.element('feed').press('Tab'); };
  await feed('demo-gpt2');
  const own = await add(app, 'controls', 'controls');
  assert.equal(own.ordered.feed.id, 'demo-gpt2');
  for (const [at, block] of own.blocks.entries()) {
    assertClose(`block ${at}`, block.controls.cross_feed.r2_lin, plain.blocks[at].r2_lin, 1e-6);
  }
  assert.equal(await app.element('measure-controls').count(), 0, 'there is nothing left to offer');
  await feed('demo-llama');
  const other = await add(app, 'controls', 'controls');
  assert.equal(other.ordered.feed.id, 'demo-llama');
  for (const [at, block] of other.blocks.entries()) {
    const { cross_feed: raw, cross_feed_matched: matched } = block.controls;
    assert.ok(raw.r2_lin <= 1 && matched.r2_lin <= 1, `block ${at}`);
    assert.notEqual(raw.r2_lin, own.blocks[at].controls.cross_feed.r2_lin, `block ${at}`);
  }
  assert.match(app.page.url(), /[?&]feed=demo-llama(&|$)/);
  await feed('calibration');
  await app.order(app.element('measure-controls'));
  assert.equal(await app.ended(), 'failed');
  assert.match(await app.element('error').innerText(), /“Rows of another model”: calibration of hidden size/);
  assert.deepEqual((await app.report()).blocks, other.blocks, 'what was measured stays');
});

visit('swaps and layers measured from their buttons give the values of an independent implementation', { webgpu: false }, async (app) => {
  const expected = JSON.parse(await readFile(join(MODEL, 'expected.json'), 'utf8'));
  await own(app);
  await app.measure();
  await app.view('losses');
  assert.match(await app.element('cost-swap').innerText(), /^About .* s/);

  const swapped = await add(app, 'losses', 'swap');
  assertClose('ppl', swapped.ppl, expected.ppl, 1e-3 * expected.ppl);
  for (const [at, block] of swapped.blocks.entries()) {
    for (const name of ['linear', 'mean', 'zero']) {
      assertLoss(`block ${at} ${name}`, block.delta_ppl[name], expected.blocks[at].delta_ppl[name], expected.ppl);
    }
  }
  assert.equal(await app.element('measure-swap').count(), 0, 'there is nothing left to offer');
  await app.element('numbers-0').locator('summary').click();
  const shown = await digits(app.element('numbers-0').locator('tbody tr').nth(0).locator('td').nth(1));
  assertLoss('shown', shown, expected.blocks[0].delta_ppl.linear, expected.ppl);

  const layered = await add(app, 'layers', 'layers');
  assert.deepEqual(layered.blocks[0].delta_ppl, swapped.blocks[0].delta_ppl, 'swaps stay');
  for (const [at, layer] of layered.layers.entries()) {
    for (const name of ['linearity', 'linearity_heldout', 'linearity_no_residual']) {
      assertClose(`layer ${at} ${name}`, layer[name], expected.layers[at][name], 1e-4);
    }
  }
  assert.equal(await app.element('chart-0').locator('path.mark').count(), 3 * 4);

  const raised = await add(app, 'probes', 'degrees');
  for (const [at, block] of raised.blocks.entries()) {
    const { degrees } = expected.blocks[at];
    assert.deepEqual(Object.keys(block.degrees), Object.keys(degrees));
    for (const [degree, points] of Object.entries(degrees)) {
      assert.deepEqual(block.degrees[degree].map(({ features }) => features), points.map(({ features }) => features));
      points.forEach(({ r2 }, size) => assertClose(`block ${at}, degree ${degree}`, block.degrees[degree][size].r2, r2, 1e-5));
    }
  }
  assert.equal(await app.element('chart-0').locator('path.mark').count(), 4 * raised.blocks.length);
  assert.match(await app.element('figure-0').innerText(), /On average, degree 2 adds 0\.\d+ to R² of the linear map/);
});

visit('perplexity is measured on another text, chosen in the form or in a link', { webgpu: false, query: { model: 'demo-gpt2', rows: '2560', measures: 'swap' } }, async (app) => {
  await app.choose({ backend: 'cpu' });
  const heldout = await app.measure();
  assert.equal(heldout.ordered.eval, undefined);
  await app.choose({ eval: { label: 'Generated text puzzles:1' } });
  assert.equal(new URL(app.page.url()).searchParams.get('eval'), 'puzzles:1');
  const report = await app.measure();
  assert.equal(report.ordered.eval.id, 'puzzles:1');
  assert.equal(report.ordered.eval.windows, 20);
  assert.ok(report.ppl > 1.2 * heldout.ppl, `${report.ppl}, ${heldout.ppl} on tales`);
  assert.deepEqual(report.blocks.map(({ r2_lin }) => r2_lin), heldout.blocks.map(({ r2_lin }) => r2_lin));
  await app.page.reload();
  await app.started();
  const again = await app.measure();
  assert.deepEqual([again.ppl, again.ordered.eval], [report.ppl, report.ordered.eval]);
});

visit('any two replacements are compared on the same windows', { webgpu: false, query: { model: 'demo-gpt2', view: 'losses' } }, async (app) => {
  const { blocks } = await (await fetch(new URL('data/recorded/demo-gpt2.json', process.env.STRAIGHTEDGE_URL))).json();
  await app.element('pair').waitFor();
  const probes = Object.keys(blocks[0].probes);
  assert.equal(probes.length, 6);
  const replacements = [...probes, 'linear', 'mean', 'removed'].sort();
  assert.deepEqual(await app.element('pair-1').locator('option').allInnerTexts(), replacements);
  await app.element('pair-0').selectOption('linear');
  await app.element('pair-1').selectOption('zero');
  await app.waitForText('facts-9', /removed differs from linear in blocks? .*, most in block 0: by .* ± .*95 % interval/);
  await app.element('numbers-9').locator('summary').click();
  const rows = app.element('numbers-9').locator('tbody tr');
  for (const [at, { delta_ppl }] of blocks.entries()) {
    const found = await digits(rows.nth(at).locator('td').first());
    assertClose(`block ${at}`, found, delta_ppl.zero - delta_ppl.linear, 1e-9);
  }
  await app.element('pair-1').selectOption('linear');
  await app.waitForText('facts-9', /linear does not differ from linear in blocks 0–5/);
});

visit('the survey of the first paper is one button, in the form and in the link', { webgpu: false, hasSilentHub: true }, async (app) => {
  await app.element('protocol').locator('summary').click();
  await app.element('of-survey').click();
  const link = new URL(app.page.url()).searchParams;
  assert.deepEqual(['text', 'eval', 'measures', 'metric'].map((name) => link.get(name)), ['wikitext-2-train', 'wikitext-2-test', 'swap', 'scalar']);
  assert.equal(await app.element('text-select').inputValue(), ':hub:wikitext-2-train');
  assert.equal(await app.element('rows').inputValue(), '15000');
});

visit('the rank curve is shown for the block chosen and told value by value', { webgpu: false }, async (app) => {
  const report = await app.measure();
  await app.view('ranks');
  await app.element('block-select').selectOption('1');
  assert.match(await app.element('figure-0').locator('h3').innerText(), /^Block 1/);
  await app.element('chart-0').focus();
  await app.page.keyboard.press('ArrowRight');
  await app.page.keyboard.press('ArrowRight');
  const text = (await app.element('readout-0').innerText()).replace('−', '-');
  assert.match(text, /^Rank 2: R² /);
  assertClose('rank 2', Number(text.match(/R² (-?[\d.]+)/)[1]), report.blocks[1].r2_rank[1], 1e-6);
});

visit('a long measure that is cancelled leaves everything that was measured', { webgpu: false }, async (app) => {
  await own(app);
  await app.choose({ rows: 6400, 'seq-len': 64 });
  await app.measure();
  const before = await add(app, 'losses', 'swap');
  await app.view('ranks');
  const cancelled = app.page.evaluate(() => new Promise((pressed) => {
    const watcher = new MutationObserver(() => {
      if (!/Measuring rows|Swapping/.test(document.querySelector('[data-testid=status]')?.textContent ?? '')) return;
      watcher.disconnect();
      document.querySelector('[data-testid=stop]').click();
      pressed();
    });
    watcher.observe(document.body, { childList: true, subtree: true, characterData: true });
  }));
  await app.element('measure-rank-swap').click();
  await cancelled;
  assert.equal(await app.ended(), 'cancelled');
  const after = await app.report();
  assert.equal(after.partial, true);
  assert.equal(after.blocks.length, before.blocks.length);
  for (const [at, block] of after.blocks.entries()) {
    assert.equal(block.r2_lin, before.blocks[at].r2_lin);
    assert.equal(block.delta_ppl.zero, before.blocks[at].delta_ppl.zero, `block ${at}`);
  }
  assert.equal(await app.element('measure-rank-swap').isVisible(), true, 'it can be asked for again');
});

/** Identifiers and places of the tabs of both levels. */
const tabs = (app) => app.page.locator('[role=tab]').evaluateAll((all) => all.map((tab) => {
  const { x, y, width } = tab.getBoundingClientRect();
  return [tab.id, x, y + scrollY, width].join(' ');
}));

visit('four groups hold the views, by keyboard as well', { webgpu: false }, async (app) => {
  await app.element('tab-profile').focus();
  const open = () => app.page.evaluate(() => [document.activeElement.dataset.testid, document.activeElement.ariaSelected]);
  const keys = async (presses) => {
    for (const [key, tab, view] of presses) {
      await app.page.keyboard.press(key);
      assert.deepEqual(await open(), [tab, 'true'], key);
      assert.equal(await app.element('panel').getAttribute('aria-labelledby'), view);
    }
  };
  await keys([['ArrowRight', 'tab-block', 'tab-block'], ['End', 'tab-sides', 'tab-sides'], ['ArrowRight', 'tab-profile', 'tab-profile'],
    ['ArrowLeft', 'tab-sides', 'tab-sides'], ['Home', 'tab-profile', 'tab-profile']]);
  await app.element('group-explore').focus();
  await keys([['ArrowRight', 'group-swap', 'tab-losses'], ['ArrowRight', 'group-why', 'tab-regimes'], ['End', 'tab-compare', 'tab-compare'],
    ['ArrowRight', 'group-explore', 'tab-profile'], ['ArrowLeft', 'tab-compare', 'tab-compare']]);
  await app.view('ranks');
  await app.view('profile');
  await app.element('group-swap').click();
  assert.equal(await app.element('tab-ranks').getAttribute('aria-selected'), 'true', 'a group opens on its last view');
  assert.equal(await app.page.locator('[role=tab][tabindex="0"]').count(), 2, 'one stop for the Tab key in either level');
});

visit('tabs stay in place whatever is measured, and fit a phone', { webgpu: false }, async (app) => {
  const before = await tabs(app);
  assert.equal(before.length, 7, 'four groups and three views');
  await app.run();
  assert.deepEqual(await tabs(app), before, 'while it is measured');
  assert.equal(await app.ended(), 'finished');
  assert.deepEqual(await tabs(app), before, 'afterwards');
  await app.page.setViewportSize({ width: 390, height: 800 });
  for (const view of ['sides', 'healing', 'layers', 'compare']) {
    await app.view(view);
    // A chart takes its new width from an observer.
    await app.page.waitForFunction(() => document.documentElement.scrollWidth === document.documentElement.clientWidth);
    const lines = await app.page.locator('[role=tab]').evaluateAll((all) => new Set(all.map((tab) => tab.offsetTop)).size);
    assert.ok(lines <= 2, `${lines} lines of tabs, ${view}`);
  }
});

visit('each measure says what it answers and how long it takes, and is ordered where it is missing', { webgpu: false, query: { model: 'demo-gpt2-step0', view: 'layers' } }, async (app) => {
  assert.equal(await app.element('measure-layers').count(), 0, 'the recording has it');
  await app.view('probes');
  for (const measure of ['probes', 'conjunction']) {
    assert.match(await app.element(`asks-${measure}`).innerText(), /\?$/);
    assert.match(await app.element(`cost-${measure}`).innerText(), /machine of the recording.* (s|min|h)/);
  }
  assert.match(await app.element('plan').innerText(), /\? .*takes about .* s/);
  assert.equal(await app.page.locator('button.main:not(.second):visible').count(), 1, 'one button measures');
  await app.choose({ 'model-select': 'calibration', rows: 1280 });
  await app.view('regimes');
  await app.waitForText('asks-fit', /linear map/);
  await app.order(app.element('measure-fit'));
  assert.equal(await app.ended(), 'finished');
  await app.element('figure-0').waitFor();
  await app.view('layers');
  assert.match(await app.element('cost-layers').innerText(), /^About .* here/);
  await app.order(app.element('measure-layers'));
  assert.equal(await app.ended(), 'finished');
  assert.equal((await app.report()).layers.length, 6);
});

visit('an encoder is told why it has no losses', { webgpu: false }, async (app) => {
  await own(app, join(FIXTURES, 'tiny-bert'));
  await app.choose({ rows: 640, 'seq-len': 32 });
  await app.measure();
  await app.view('losses');
  assert.match(await app.element('refused-swap').innerText(), /encoder/);
  assert.equal(await app.element('measure-swap').count(), 0);
});

visit('measurements are laid over each other and compared in numbers', { webgpu: false }, async (app) => {
  const first = await app.measure();
  await app.choose({ 'skip-positions': 1 });
  const second = await app.measure();
  await app.element('overlay-select').selectOption({ index: 1 });
  const pairs = first.blocks.map((block, at) => [block.r2_lin, second.blocks[at].r2_lin]).filter(([a, b]) => a !== null && b !== null);
  const shift = pairs.reduce((sum, [a, b]) => sum + Math.abs(a - b), 0) / pairs.length;
  const text = await app.element('agreement').innerText();
  assert.match(text, new RegExp(`Over ${pairs.length} blocks: Pearson 1.000`));
  assertClose('shift', Number(text.match(/shift ([\d.]+)\./)[1]), shift, 6e-5);
  assert.equal(await app.element('chart').locator('path.overlay:not(.line)').count(), pairs.length);
});

visit('a report opened from the disk shows its views, and published values where its model is known', { webgpu: false }, async (app) => {
  const measured = await app.measure();
  const block = measured.blocks[0];
  const blocks = Array.from({ length: 12 }, (_, at) => ({ ...block, block: at, r2_lin_scalar: at / 12 }));
  const model = { ...measured.model, id: 'openai-community/gpt2', architecture: 'gpt2', hidden_size: 768, intermediate_size: 3072, num_hidden_layers: 12 };
  const report = { ...measured, model, blocks };
  await app.afresh();
  await app.element('report-file').setInputFiles({
    name: 'gpt2.json', mimeType: 'application/json', buffer: Buffer.from(JSON.stringify(report)),
  });
  await app.view('losses');
  assert.match(await app.element('refused-swap').innerText(), /opened from a file/);
  await app.view('probes');
  assert.equal(await app.page.getByText('opened from a file').count(), 1, 'said once for all that is missing');
  await app.view('profile');
  await app.element('overlay-select').locator('option', { hasText: 'WikiText-2' }).waitFor({ state: 'attached' });
  await app.element('overlay-select').selectOption('published:WikiText-2');
  assert.match(await app.element('overlay-note').innerText(), /published in arXiv 2606\.19379.*not measured here/);
  await app.element('chart').focus();
  await app.page.keyboard.press('End');
  assert.match(await app.element('readout').innerText(), /R² scalar .*0\.916667.*0\.712851/);
});

visit('the windows of the second paper’s notebook are one button, in the report and in the link', { webgpu: false, query: { model: 'demo-gpt2' } }, async (app) => {
  await app.element('protocol').evaluate((fold) => { fold.open = true; });
  await app.element('of-notebook').click();
  assert.ok(await app.element('measures-layers').isChecked());
  await app.choose({ rows: 3840 });
  const report = await app.measure();
  assert.deepEqual([report.protocol.piece_chars, report.protocol.seq_len, report.protocol.rows], [512, 96, 3840]);
  assert.equal(report.layers.length, 6);
  assert.match(app.page.url(), /piece_chars=512/);
});
