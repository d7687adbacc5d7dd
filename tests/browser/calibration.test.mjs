// The calibration model on the page: results known by construction must be measured, with and without WebGPU.
import assert from 'node:assert/strict';

import { assertClose, digits, visit } from './driver.mjs';
import { lateAdapter } from './shims.mjs';

const EXPECTED = new URL('models/calibration/expected.json', process.env.STRAIGHTEDGE_URL);
const TOLERANCE = 1e-5;

async function assertCalibrated(app, report) {
  const expected = await (await fetch(EXPECTED)).json();
  assert.equal(report.partial, false);
  assert.equal(report.model.id, 'calibration');
  assert.equal(report.protocol.windows, 30);
  assert.equal(report.blocks.length, expected.r2_lin.length);
  for (const [at, block] of report.blocks.entries()) {
    assert.equal(block.block, at);
    assertClose(`block ${at} r2_lin`, block.r2_lin, expected.r2_lin[at], TOLERANCE);
    assertClose(`block ${at} r2_feature_median`, block.r2_feature_median, expected.r2_feature_median[at], TOLERANCE);
    assert.equal(block.r2_folds.length, 5);
    for (const fold of block.r2_folds) assertClose(`block ${at} fold`, fold, expected.r2_lin[at], TOLERANCE);
    assert.equal(block.rank, expected.rank[at], `block ${at} rank`);
    if (expected.effective_rank[at] !== null) {
      assert.equal(block.effective_rank, expected.effective_rank[at], `block ${at} effective_rank`);
    }
  }
  await assertShown(app, expected);
}

/** The page shows measured and expected values side by side, and that they agree. */
async function assertShown(app, expected) {
  for (const [at, r2] of expected.r2_lin.entries()) {
    const row = app.element(`row-${at}`);
    const cell = row.locator('[data-column=expected]');
    assert.match(await cell.innerText(), /✓/, `block ${at}`);
    if (r2 !== null) {
      const shown = await digits(row.locator('[data-column=r2_lin]'));
      assertClose(`block ${at} shown`, shown, r2, TOLERANCE);
    }
  }
  assert.equal(await app.element('error').count(), 0);
}

visit('on WebGPU every block measures what it was made for', { webgpu: true }, async (app) => {
  assert.match(await app.device(), /^(gpu|software)$/);
  await app.choose({ 'model-select': 'calibration', backend: 'gpu' });
  const report = await app.measure();
  assert.equal(report.device.backend, 'gpu');
  await assertCalibrated(app, report);
  const undefinedBlock = report.warnings.find((warning) => warning.block === 3);
  assert.ok(undefinedBlock, 'the block without variance has a warning');
  assert.ok((await app.element('warnings').innerText()).includes(undefinedBlock.text));
});

visit('a browser that finds its GPU only at the second request measures on it', { webgpu: true, shim: lateAdapter() }, async (app) => {
  assert.match(await app.device(), /^(gpu|software)$/);
});

visit('without WebGPU the page says so in a sentence and measures the same on the CPU', { webgpu: false }, async (app) => {
  assert.equal(await app.device(), 'cpu');
  const notice = await app.element('device').innerText();
  assert.match(notice, /WebGPU/);
  assert.match(notice, /^[^.]+\.$/, 'one sentence');
  const report = await app.measure();
  assert.equal(report.device.backend, 'cpu');
  await assertCalibrated(app, report);
});
