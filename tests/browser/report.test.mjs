// Reports: saved, opened and measured again, without any difference on the same device; differences are shown.
import assert from 'node:assert/strict';

import { visit } from './driver.mjs';

async function opened(app, report) {
  await app.afresh();
  await app.element('report-file').setInputFiles({
    name: 'report.json', mimeType: 'application/json', buffer: Buffer.from(JSON.stringify(report)),
  });
  await app.element('replay').waitFor();
}

visit('a report is measured again without any difference', { webgpu: false }, async (app) => {
  await app.choose({ rows: 1280, 'seq-len': 64 });
  await app.element('measures-swap').check();
  const saved = await app.measure();
  await opened(app, saved);
  assert.equal(await app.element('row-0').count(), 1, 'opening shows it');
  await app.element('replay').click();
  assert.equal(await app.ended(), 'finished');
  assert.equal(await app.element('differences').getAttribute('data-most'), '0');
  assert.match(await app.element('differences').innerText(), /No number of any of the 6 blocks differs/);
  const again = await app.report();
  assert.deepEqual(again.protocol, saved.protocol);
  assert.deepEqual(again.blocks.map((block) => [block.r2_lin, block.delta_ppl]), saved.blocks.map((block) => [block.r2_lin, block.delta_ppl]));

  const other = structuredClone(saved);
  other.blocks[1].r2_lin += 0.001;
  other.model.sha256 = 'f'.repeat(64);
  await opened(app, other);
  await app.element('replay').click();
  assert.equal(await app.ended(), 'finished');
  assert.ok(Math.abs(Number(await app.element('differences').getAttribute('data-most')) - 0.001) < 1e-9);
  const text = await app.element('differences').innerText();
  assert.match(text, /r2_lin of block 1/);
  assert.match(text, /weights differ from those of the report/);
});

visit('a replay orders again what the form has no field for', { webgpu: false }, async (app) => {
  await app.choose({ rows: 1280, 'seq-len': 64 });
  const saved = await app.measure();
  assert.deepEqual(saved.ordered, { measures: ['fit'], blocks: null, ranks: null, training: saved.ordered.training, backend: 'auto' });
  saved.ordered = { ...saved.ordered, measures: ['fit', 'rank-swap'], blocks: [1, 3], ranks: [1, 2], backend: 'cpu' };
  saved.protocol.seed = 7;
  saved.model.checkpoint = 'step3000';
  await opened(app, saved);
  await app.element('replay').click();
  assert.equal(await app.ended(), 'finished');
  assert.equal(await app.element('differences').getAttribute('data-most'), '0');
  const again = await app.report();
  assert.deepEqual(again.blocks.map(({ block }) => block), [1, 3]);
  assert.deepEqual([again.protocol.seed, again.model.checkpoint], [7, 'step3000']);
  assert.deepEqual(again.ordered, saved.ordered);
  assert.deepEqual(Object.keys(again.blocks[0].delta_ppl).filter((name) => name.startsWith('rank_')), ['rank_1', 'rank_2']);
});

visit('a report of files that are not here asks for them', { webgpu: false }, async (app) => {
  const saved = await app.measure();
  saved.model.id = 'my-own-model';
  await opened(app, saved);
  await app.element('replay').click();
  assert.match(await app.error(), /my-own-model.*files of your own/);
});
