// Soak: measurements, cancels, changes of the model and replays in one page leave the memory of page and engine as it
// was. The first rounds fill what is bounded: kept tokenizers, and the measurements that stay comparable.
import assert from 'node:assert/strict';

import { visit } from './driver.mjs';

/** Rounds before memory is compared, and afterwards; each has three measurements, a cancel and a reopened result. */
const [FIRST, MORE] = [8, 8];

/** What page and engine hold after garbage collections. */
async function held(app, devtools) {
  const { wasm } = await app.memory();
  for (let at = 0; at < 3; at += 1) await devtools.send('HeapProfiler.collectGarbage');
  const { metrics } = await devtools.send('Performance.getMetrics');
  const value = (name) => metrics.find((metric) => metric.name === name).value;
  return { wasm, heap: value('JSHeapUsedSize'), nodes: value('Nodes'), listeners: value('JSEventListeners') };
}

/** Two models measured, one measurement cancelled, and the latest result opened and measured again. */
async function round(app) {
  await app.choose({ 'model-select': 'calibration', rows: 1280 });
  await app.measure();
  await app.choose({ 'model-select': 'demo-gpt2', 'text-select': 'tales:1', rows: 1280 });
  await app.measure();
  await app.run();
  await app.element('cancel').click();
  assert.equal(await app.ended(), 'cancelled');
  const history = (open) => app.element('history').evaluate((fold, open) => { fold.open = open; }, open);
  await history(true);
  await app.element('kept-open').first().click();
  await history(false);
  await app.order(app.element('replay'));
  assert.equal(await app.ended(), 'finished');
}

visit('forty-eight measurements and sixteen cancels in one page leave memory as it was', { webgpu: false }, async (app) => {
  const devtools = await app.page.context().newCDPSession(app.page);
  await devtools.send('Performance.enable');
  const seen = [];
  for (let at = 0; at < FIRST + MORE; at += 1) {
    await round(app);
    seen.push(await held(app, devtools));
  }
  const [before, after] = [seen[FIRST - 1], seen.at(-1)];
  for (const name of Object.keys(before)) {
    assert.ok(after[name] <= 1.05 * before[name], `${name}: ${seen.map((one) => one[name]).join(' ')}`);
  }
});
