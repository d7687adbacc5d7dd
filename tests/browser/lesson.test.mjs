// The lesson: nine steps by keyboard alone; the interval dragged and R² recomputed here; a step done by the page itself
// with a real measurement; the link to a step; locks; accessible, on a phone, on paper.
import assert from 'node:assert/strict';

import { PATIENCE, assertClose, findings, tabTo, visit } from './driver.mjs';

const STEPS = 9;
const OPEN = { lesson: '1', rows: '1280' };

/** Waits until a step is ticked off in the list. */
const ticked = (app, step, timeout) => app.element(`step-${step}`).and(app.page.locator('[data-done=true]')).waitFor({ timeout });

const isDone = async (app, step) => await app.element(`step-${step}`).getAttribute('data-done') === 'true';

/** The open step; exactly one is open. */
async function openStep(app) {
  const open = await app.page.locator('.step:visible').evaluateAll((steps) => steps.map((step) => step.dataset.step));
  assert.equal(open.length, 1, `open: ${open}`);
  return Number(open[0]);
}

/** The last number in a line of the examples. */
async function lastNumber(app, name) {
  const numbers = (await app.element(name).innerText()).replaceAll('−', '-').match(/-?\d+(\.\d+)?/g);
  return Number(numbers.at(-1));
}

/** Error function by its series, to compute GELU independently. */
function erf(x) {
  let [term, sum] = [x, x];
  for (let n = 1; Math.abs(term) > 1e-17 * Math.abs(sum) && n < 200; n += 1) {
    term *= -x * x / n;
    sum += term / (2 * n + 1);
  }
  return 2 / Math.sqrt(Math.PI) * sum;
}

/** R² of the best line for GELU on an interval, by sums over a fine grid. */
function r2OfGelu(low, high) {
  const n = 20_000;
  const points = Array.from({ length: n }, (_, at) => low + (high - low) * (at + 0.5) / n);
  const values = points.map((x) => x / 2 * (1 + erf(x / Math.SQRT2)));
  const mean = (list) => list.reduce((sum, value) => sum + value, 0) / n;
  const [mx, my] = [mean(points), mean(values)];
  const product = (a, ma, b, mb) => mean(a.map((value, at) => (value - ma) * (b[at] - mb)));
  return product(points, mx, values, my) ** 2 / product(points, mx, points, mx) / product(values, my, values, my);
}

visit('the keyboard alone leads through all steps and out again', { webgpu: false, query: {} }, async (app) => {
  const { keyboard } = app.page;
  await tabTo(app.page, 'lesson-open');
  await keyboard.press('Enter');
  for (let step = 1; step <= STEPS; step += 1) {
    assert.equal(await openStep(app), step);
    assert.ok((await app.element(`step-title-${step}`).innerText()).length > 5);
    await app.page.waitForFunction((step) => new URLSearchParams(location.search).get('lesson') === String(step), step);
    assert.equal(await app.element(`look-${step}`).isVisible(), false, 'what to observe is not said before it is done');
    await tabTo(app.page, 'lesson-next');
    await keyboard.press('Enter');
    if (step < STEPS) {
      await app.page.waitForFunction((step) => document.activeElement.dataset.testid === `step-title-${step}`, step + 1);
    }
  }
  await app.waitForText('lesson-summary', /^0 of 9 steps are done/);
  await tabTo(app.page, 'lesson-next');
  await keyboard.press('Enter');
  assert.equal(await app.element('lesson').count(), 0);
  assert.ok(!app.page.url().includes('lesson'));
  await app.element('lesson-open').waitFor();
});

visit('the interval is dragged and moved by keys, and R² is what it is there', { webgpu: false, query: { lesson: '2' } }, async (app) => {
  assertClose('R² from −3 to 3', await lastNumber(app, 'reading-2'), r2OfGelu(-3, 3), 2e-6);
  const handle = app.element('handle-low');
  await handle.evaluate((element) => element.scrollIntoView({ block: 'center' }));
  const box = await handle.locator('circle').boundingBox();
  const picture = await app.page.locator('.hand svg').boundingBox();
  const [x, y] = [box.x + box.width / 2, box.y + box.height / 2];
  await app.page.mouse.move(x, y);
  await app.page.mouse.down();
  await app.page.mouse.move(x + picture.width * 0.2, y - 30, { steps: 6 });
  await app.page.mouse.up();
  await app.page.mouse.move(x, y, { steps: 2 });
  const low = Number(await handle.getAttribute('aria-valuenow'));
  assert.ok(low > -1.2 && low < -0.4, `dragged to ${low}`);
  assertClose(`R² from ${low} to 3`, await lastNumber(app, 'reading-2'), r2OfGelu(low, 3), 2e-6);
  assert.equal(await isDone(app, 2), false);

  assert.equal(await app.page.evaluate(() => document.activeElement.dataset.testid), 'handle-low', 'keys go on there');
  for (let at = 0; at < 3; at += 1) await app.page.keyboard.press('ArrowRight');
  assertClose('three tenths further', Number(await handle.getAttribute('aria-valuenow')), low + 0.3, 1e-9);
  while (!await isDone(app, 2)) {
    await app.page.keyboard.press('PageUp');
    assert.ok(Number(await handle.getAttribute('aria-valuenow')) < 2, 'beyond where it is straight');
  }
  const reached = Number(await handle.getAttribute('aria-valuenow'));
  const r2 = await lastNumber(app, 'reading-2');
  assertClose(`R² from ${reached} to 3`, r2, r2OfGelu(reached, 3), 2e-6);
  assert.ok(r2 >= 0.99);

  await app.element('line-own').click();
  await app.element('handle-own-high').focus();
  for (let at = 0; at < 4; at += 1) await app.page.keyboard.press('PageUp');
  const words = await app.element('reading-2').innerText();
  const [own, best] = words.match(/\d\.\d{6}|[−-]\d+\.\d{6}/g).map((number) => Number(number.replace('−', '-')));
  assert.ok(own < best && own !== 0, words);
  assertClose('the best line beside it', best, r2OfGelu(reached, 3), 2e-6);
});

visit('the examples show what they are for', { webgpu: false, query: { lesson: '1' } }, async (app) => {
  assert.ok(await lastNumber(app, 'reading-1') < 0.5);
  await app.element('network-identity').click();
  await ticked(app, 1);
  assert.equal(await lastNumber(app, 'reading-1'), 1);
  assert.ok(await app.element('look-1').isVisible(), 'what to observe stands there once it is done');

  await app.element('step-3').click();
  await app.element('many-rows-30').click();
  await app.element('many-inputs').focus();
  await app.page.keyboard.press('End');
  await ticked(app, 3);
  assert.ok(await lastNumber(app, 'reading-3') < 0);

  await app.element('step-4').click();
  for (const [trap, spring] of Object.entries({
    scalar: () => app.element('trap-slider-scalar').press('End'),
    outlier: () => app.element('trap-slider-outlier').press('End'),
    null: () => app.element('trap-switch-null').check(),
    baseline: () => app.element('trap-slider-baseline').press('End'),
  })) {
    assert.equal(await isDone(app, 4), false, trap);
    await app.element(`trap-${trap}`).click();
    await spring();
    await app.element(`trap-${trap}`).and(app.page.locator('[data-done=true]')).waitFor();
  }
  await ticked(app, 4);
  await app.element('trap-outlier').click();
  assert.ok(await lastNumber(app, 'trap-reading-outlier') > 0.9);
  await app.element('trap-switch-outlier').check();
  assert.ok(await lastNumber(app, 'trap-reading-outlier') < 0.1, 'without the first rows');
});

visit('“Do it for me” really measures, swaps and compares, and the steps notice', { webgpu: false, query: { ...OPEN, lesson: '5', model: 'calibration' } }, async (app) => {
  // Read in the task after the press, before any message of the engine.
  const then = await app.element('do-5').evaluate(async (button) => {
    button.click();
    await null;
    const of = (name) => document.querySelector(`[data-testid=${name}]`);
    return { phase: of('status').dataset.phase, disabled: of('do-5').disabled, done: of('step-5').dataset.done };
  });
  assert.deepEqual(then, { phase: 'running', disabled: true, done: 'false' }, 'before it is measured');
  assert.equal(await app.ended(), 'finished');
  await ticked(app, 5);
  const report = await app.report();
  assert.equal(report.model.id, 'demo-gpt2');
  assert.equal(report.blocks.length, 6);
  assert.deepEqual(report.blocks[0].delta_ppl, {});

  await app.element('lesson-next').click();
  await app.element('do-6').click();
  await ticked(app, 6, PATIENCE);
  const swapped = await app.report();
  assert.ok(swapped.blocks.every((block) => block.delta_ppl.linear !== null && 'zero' in block.delta_ppl));
  assert.equal(await app.element('tab-losses').getAttribute('aria-selected'), 'true');
  await app.element('look-sides').click();
  await app.element('tab-sides').and(app.page.locator('[aria-selected=true]')).waitFor();

  await app.element('lesson-next').click();
  for (const preset of ['learned', 'training', 'seeds']) {
    assert.equal(await isDone(app, 7), false, preset);
    await app.element('do-7').click();
    await app.element(`preset-${preset}`).and(app.page.locator('[aria-pressed=true]')).waitFor();
  }
  await ticked(app, 7);

  await app.element('lesson-next').click();
  for (const view of ['regimes', 'ranks']) {
    assert.equal(await isDone(app, 8), false, view);
    await app.element('do-8').click();
    await app.element(`tab-${view}`).and(app.page.locator('[aria-selected=true]')).waitFor();
  }
  await ticked(app, 8);

  await app.element('lesson-next').click();
  const least = (value) => swapped.blocks.reduce((best, block) => (value(block) < value(best) ? block : best)).block;
  const right = {
    parameters: report.model.hidden_size * (report.model.hidden_size + 1),
    gap: least((block) => block.r2_lin - block.r2_lin_scalar),
    cheapest: least((block) => block.delta_ppl.linear),
    rank: swapped.blocks[0].effective_rank,
  };
  for (const [name, answer] of Object.entries(right)) {
    const field = app.element(`answer-${name}`);
    await field.fill(String(answer + 1));
    await field.press('Tab');
    await app.element(`verdict-${name}`).and(app.page.locator('[data-right=false]')).waitFor();
    assert.equal(await isDone(app, 9), false, name);
    await field.fill(String(answer));
    await field.press('Tab');
    await app.element(`verdict-${name}`).and(app.page.locator('[data-right=true]')).waitFor();
  }
  await ticked(app, 9);
});

visit('the link leads to the step, with a teacher’s locks, and refuses what is none', { webgpu: false, query: { lesson: '3', lock: 'model', hide: 'views', model: 'demo-neox' } }, async (app) => {
  assert.equal(await openStep(app), 3);
  await app.element('step-6').click();
  assert.equal(await app.element('do-6').count(), 0);
  assert.match(await app.page.locator('.step:visible .task').innerText(), /hides the views/);
  await app.page.waitForFunction(() => location.search.includes('lesson=6'));
  const address = app.page.url();
  assert.ok(address.includes('lock=model') && address.includes('hide=views'), address);
  await app.page.goto('about:blank');
  await app.page.goto(address);
  await app.started();
  assert.equal(await openStep(app), 6);
  assert.equal(app.page.url(), address);

  const site = new URL(address);
  for (const lesson of ['10', '0', '01', '<b>x</b>']) {
    site.search = new URLSearchParams({ lesson }).toString();
    await app.page.goto(site.href);
    await app.started();
    assert.match(await app.error(), /lesson/);
    assert.equal(await app.element('lesson').count(), 0, lesson);
  }
});

visit('axe-core finds nothing serious in the lesson, and a phone shows it without scrolling sideways', { webgpu: false, query: { lesson: '1' } }, async (app) => {
  for (const [colorScheme, width] of [['light', 1280], ['dark', 390]]) {
    await app.page.emulateMedia({ colorScheme, reducedMotion: 'reduce' });
    await app.page.setViewportSize({ width, height: 800 });
    for (const step of [1, 2, 3, 4, 6, 8, 9]) {
      await app.element(`step-${step}`).click();
      if (step === 2) await app.element('line-own').click();
      if (step === 9) await app.page.evaluate(() => document.querySelectorAll('.answer').forEach((fold) => { fold.open = true; }));
      assert.deepEqual(await findings(app.page), [], `${colorScheme}, ${width} wide, step ${step}`);
      const [needed, there] = await app.page.evaluate(() => [document.documentElement.scrollWidth, document.documentElement.clientWidth]);
      assert.ok(needed <= there, `step ${step} is ${needed} wide where ${there} are`);
    }
  }
});

visit('formulas are set by the browser, and on paper all steps stand without the instrument', { webgpu: false, query: { lesson: '3' } }, async (app) => {
  const formula = await app.page.locator('.step:visible math').first().evaluate((math) => {
    const box = math.getBoundingClientRect();
    return { namespace: math.namespaceURI, height: box.height, fractions: document.querySelectorAll('math mfrac').length };
  });
  assert.equal(formula.namespace, 'http://www.w3.org/1998/Math/MathML');
  assert.ok(formula.height > 20 && formula.fractions >= 3, JSON.stringify(formula));
  await app.page.emulateMedia({ media: 'print' });
  assert.equal(await app.page.locator('.step:visible').count(), STEPS);
  for (const gone of ['chart', 'run', 'step-1', 'do-3']) assert.equal(await app.element(gone).isVisible(), false, gone);
  const pdf = await app.page.pdf();
  const sheets = pdf.toString('latin1').match(/\/Type\s*\/Page[^s]/g).length;
  assert.ok(sheets >= 3 && sheets <= 16, `${sheets} sheets`);
});
