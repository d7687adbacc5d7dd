// The comparison: recordings combined by a click and checked against their files, and measured here by the real engine;
// by pointer, by keyboard, and with reduced motion.
import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';

import { assertClose, visit } from './driver.mjs';

const WEB = new URL('../../web/', import.meta.url);
const RECORDED = new URL('data/recorded/', WEB);

async function recorded() {
  const summaries = JSON.parse(await readFile(new URL('index.json', RECORDED), 'utf8'));
  return Object.fromEntries(summaries.map((summary) => [summary.name, summary]));
}

/** Bundled steps of the run with checkpoints, from its first. */
async function steps() {
  const index = JSON.parse(await readFile(new URL('models/index.json', WEB), 'utf8'));
  const watched = index.filter(({ demo }) => demo?.run === 'demo-gpt2').map(({ demo }) => demo.step).sort((a, b) => a - b);
  assert.ok(watched.length >= 6, `${watched}`);
  return watched;
}

/** Opens the comparison and, if given, a preset. */
async function compare(app, preset) {
  await app.view('compare');
  if (preset) await app.element(`preset-${preset}`).click();
  await app.element('runs').locator('li').first().waitFor();
}

/** The table of a figure: its columns by name, from block 0 on, without the agreements below them. */
async function columns(app, at) {
  const fold = app.element(`numbers-${at}`);
  if (!(await fold.evaluate((element) => element.open))) await fold.locator('summary').click();
  const [head, ...rows] = await fold.locator('tr').evaluateAll(
    (rows) => rows.map((row) => [...row.cells].map((cell) => cell.title || cell.innerText)),
  );
  const blocks = rows.filter(([name]) => /^\d+$/.test(name));
  return Object.fromEntries(head.map((name, at) => [name, blocks.map((row) => Number(row[at].replaceAll('−', '-')))]));
}

function marks(app, at) {
  return app.element(`chart-${at}`).locator('.drawing:not(.over) path.mark');
}

/** Watches from now on for the next `count` names in front, however short they are shown; returns a wait for them. */
async function nextNames(app, count) {
  const watched = await app.element('front-name').evaluateHandle((element, count) => ({
    names: new Promise((resolve) => {
      const names = [];
      const watcher = new MutationObserver(() => {
        names.push(element.innerText);
        if (names.length < count) return;
        watcher.disconnect();
        resolve(names);
      });
      watcher.observe(element, { childList: true, subtree: true, characterData: true });
    }),
  }), count);
  return () => watched.evaluate(({ names }) => names);
}

function run(app, name) {
  return app.element('runs').locator('li').filter({ has: app.page.getByText(name, { exact: true }) });
}

visit('recordings are compared before anything is measured', { webgpu: false }, async (app) => {
  const expected = await recorded();
  await compare(app);
  assert.equal(await app.element('preset-families').getAttribute('aria-pressed'), 'true');
  const shown = await columns(app, 0);
  const names = { 'Demo GPT-2 (recorded)': 'demo-gpt2', 'Demo GPT-NeoX (recorded)': 'demo-neox', 'Demo Llama (recorded)': 'demo-llama' };
  for (const [title, name] of Object.entries(names)) {
    assert.equal(shown[title].length, 6);
    for (const [block, value] of expected[name].r2_lin.entries()) assertClose(`${title} ${block}`, shown[title][block], value, 1e-15);
  }
  assert.equal(await marks(app, 0).count(), 18);
  assert.equal(await app.element('chart-0').locator('path.whisker').count(), 18, 'every value has its interval');

  await run(app, 'Demo Llama').getByTestId('show').click();
  assert.equal(await marks(app, 0).count(), 12, 'a name in the legend takes its line away');
  assert.equal(await run(app, 'Demo Llama').getByTestId('show').getAttribute('aria-pressed'), 'false');
  await run(app, 'Demo Llama').getByTestId('show').click();
  assert.equal(await marks(app, 0).count(), 18, 'and brings it back');
  await run(app, 'Demo GPT-NeoX').getByTestId('remove').click();
  assert.equal(await marks(app, 0).count(), 12);

  await app.element('chart-0').focus();
  for (const key of ['ArrowRight', 'ArrowRight', 'ArrowDown']) await app.page.keyboard.press(key);
  const text = (await app.element('readout-0').innerText()).replace('−', '-');
  assert.match(text, /^Block 1, Demo Llama \(recorded\): R² /);
  assertClose('readout', Number(text.match(/R² [\d.]+ ± [\d.]+ \(([\d.]+)\)$/)[1]), expected['demo-llama'].r2_lin[1], 1e-6);
});

visit('every ready comparison has its lines, and two of them their layers', { webgpu: false }, async (app) => {
  const expected = await recorded();
  const known = { families: 3, learned: 5, training: (await steps()).length, seeds: 2, regularised: 3, 'fine-tuned': 2 };
  for (const [preset, lines] of Object.entries(known)) {
    await compare(app, preset);
    assert.equal(await app.element('runs').locator('li').count(), lines, preset);
    assert.equal(await marks(app, 0).count(), 6 * lines, preset);
  }
  const beside = {
    regularised: [
      ['Demo GPT-2, regularised by cosine (recorded)', 'demo-gpt2-cosine'],
      ['Demo GPT-2, regularised by MSE (recorded)', 'demo-gpt2-mse'],
    ],
    'fine-tuned': [['Demo GPT-2, fine-tuned on puzzles (recorded)', 'demo-gpt2-puzzles']],
  };
  for (const [preset, others] of Object.entries(beside)) {
    await compare(app, preset);
    const layers = await columns(app, 1);
    for (const [title, name] of [['Demo GPT-2 (recorded)', 'demo-gpt2'], ...others]) {
      for (const [layer, value] of expected[name].linearity.entries()) assertClose(`${title} ${layer}`, layers[title][layer], value, 1e-6);
    }
  }
  await compare(app, 'learned');
  const learned = await columns(app, 0);
  for (const [title, control] of [['Demo GPT-2, model re-initialised (recorded)', 'reinit_model'], ['Demo GPT-2, block re-initialised (recorded)', 'reinit_block']]) {
    for (const [block, value] of expected['demo-gpt2'].controls[control].entries()) assertClose(`${title} ${block}`, learned[title][block], value, 1e-6);
  }
});

visit('a run is gone through step by step, and by itself unless less motion is wanted', { webgpu: false }, async (app) => {
  await compare(app, 'training');
  const faint = () => app.element('chart-0').locator('path.mark.behind').count();
  assert.equal(await faint(), 0);
  await app.element('front').fill('1');
  const [first, second, third, fourth, ...more] = await steps();
  const at = (step) => new RegExp(`step ${step} of`);
  assert.equal(await faint(), 6 * (3 + more.length), 'one stands in front of all others');
  assert.match(await app.element('front-name').innerText(), at(first));
  await app.element('front').focus();
  await app.page.keyboard.press('ArrowRight');
  assert.match(await app.element('front-name').innerText(), at(second));
  const played = await nextNames(app, 2);
  await app.element('play').click();
  const [next, afterwards] = await played();
  await app.element('play').click();
  assert.match(next, at(third));
  assert.match(afterwards, at(fourth));
  await app.element('front').fill('0');
  assert.equal(await faint(), 0);

  await app.page.emulateMedia({ reducedMotion: 'reduce' });
  await app.page.reload();
  await app.started();
  await compare(app, 'training');
  assert.equal(await app.element('play').isVisible(), false, 'nothing moves by itself');
  assert.equal(await app.element('front').count(), 1);
});

visit('a recording is measured here by one click, and found again', { webgpu: false }, async (app) => {
  await compare(app, 'families');
  // Counted in the task after the press, before any message of the engine.
  const others = await run(app, 'Demo Llama').getByTestId('measure').evaluate(async (button) => {
    button.click();
    await null;
    return document.querySelectorAll('[data-testid=measure]').length;
  });
  assert.equal(others, 0, 'one measurement at a time');
  assert.equal(await app.ended(), 'finished');
  assert.equal(await marks(app, 0).count(), 24);
  const text = await app.element('facts-0').locator('li').first().innerText();
  assert.match(text, /^Demo Llama: measured here, it differs from the recording by .* at most/);
  assertClose('measured', Number(text.match(/by ([\d.e−]+) at/)[1].replace('−', '-')), 0, 1e-5);
  assert.equal((await app.report()).model.id, 'demo-llama');
});

visit('opened reports and published values are laid over what is compared', { webgpu: false }, async (app) => {
  const report = JSON.parse(await readFile(new URL('demo-neox.json', RECORDED), 'utf8'));
  report.model.id = 'somebody-else';
  report.blocks.forEach((block) => { block.r2_lin = 0.25; });
  await compare(app, 'seeds');
  await app.element('report-file').setInputFiles({ name: 'theirs.json', mimeType: 'application/json', buffer: Buffer.from(JSON.stringify(report)) });
  await run(app, 'somebody-else · tales:1').waitFor();
  assert.deepEqual((await columns(app, 0))['somebody-else · tales:1 (opened)'], Array(6).fill(0.25));
  await app.element('add').selectOption('published:gpt2:WikiText-2');
  await run(app, 'gpt2 · WikiText-2').waitFor();
  const scalar = await columns(app, 1);
  assertClose('published', scalar['gpt2 · WikiText-2 (published)'][10], 0.671125, 1e-6);
  assert.match(await app.element('without-0').innerText(), /gpt2 · WikiText-2 \(published\)/, 'it is told what has no such values');
});
