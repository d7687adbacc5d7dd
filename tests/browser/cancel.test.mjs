// Cancel: immediate, keeps results so far, and leaves the page ready for the next measurement.
import assert from 'node:assert/strict';

import { visit } from './driver.mjs';

visit('cancelled while it works, the page is ready again', { webgpu: false }, async (app) => {
  const cancelled = app.cancelWhenSeen('[data-testid=progress]');
  await app.run();
  await cancelled;
  assert.equal(await app.ended(), 'cancelled');
  assert.equal(await app.element('run').isVisible(), true);
  const report = await app.measure();
  assert.equal(report.partial, false);
  assert.equal(report.blocks.length, 6);
});

visit('cancelled after the first block, that block stays and its report is partial', { webgpu: false }, async (app) => {
  const cancelled = app.cancelWhenSeen('[data-testid=row-0]');
  await app.run();
  await cancelled;
  assert.equal(await app.ended(), 'cancelled');
  const report = await app.report();
  assert.equal(report.partial, true);
  assert.ok(report.blocks.length >= 1 && report.blocks.length < 6, `${report.blocks.length} blocks`);
  assert.equal(await app.element(`row-${report.blocks.length - 1}`).isVisible(), true);
  assert.equal(await app.element('run').isVisible(), true);
});
