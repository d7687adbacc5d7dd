// No accidental loss: the page asks before it is left during a measurement, progress of the lesson survives a reload,
// a failed replay keeps the original report, and a file that never comes does not hold a measurement for ever.
import assert from 'node:assert/strict';

import { visit } from './driver.mjs';
import { impatient } from './shims.mjs';

/** Tries to leave the page for `url`, and returns whether the browser asks first; the answer is to stay. */
async function asks(app, url) {
  const asked = Promise.race([
    app.page.waitForEvent('dialog').then(async (dialog) => {
      const type = dialog.type();
      await dialog.dismiss();
      return type;
    }),
    app.page.waitForEvent('framenavigated', (frame) => frame.url() === url).then(() => 'left'),
  ]);
  await app.page.evaluate((url) => { setTimeout(() => { location.href = url; }); }, url);
  return asked;
}

visit('who leaves while something is measured is asked first, and not after', {
  webgpu: false, query: { model: 'demo-gpt2', backend: 'cpu', rows: 100000 },
}, async (app) => {
  await app.run();
  const elsewhere = new URL('robots.txt', app.page.url()).href;
  assert.equal(await asks(app, elsewhere), 'beforeunload');
  assert.equal(await app.element('status').getAttribute('data-phase'), 'running', 'it goes on');
  await app.element('cancel').click();
  assert.equal(await app.ended(), 'cancelled');
  assert.equal(await asks(app, elsewhere), 'left');
});

visit('ticks and answers of the lesson outlast a reload', { webgpu: false, query: { lesson: '1' } }, async (app) => {
  const done = (step) => app.element(`step-${step}`).and(app.page.locator('[data-done=true]'));
  await app.element('do-1').click();
  await done(1).waitFor();
  await app.element('lesson-next').click();
  await app.element('do-2').click();
  await done(2).waitFor();
  await app.element('step-9').click();
  await app.element('answer-parameters').fill('12');
  await app.element('answer-parameters').blur();
  await app.page.reload();
  await app.started();
  await done(1).waitFor();
  await done(2).waitFor();
  assert.equal(await app.element('step-3').getAttribute('data-done'), 'false');
  assert.equal(await app.element('answer-parameters').inputValue(), '12');
});

visit('what is stored of the lesson and is none is passed over', {
  webgpu: false, query: { lesson: '1' },
  before: (page) => page.addInitScript(() => localStorage.setItem('straightedge lesson', '{"done":[1,99,"x"],"answers":7}')),
}, async (app) => {
  assert.equal(await app.element('step-1').getAttribute('data-done'), 'false');
  await app.element('do-1').click();
  await app.element('step-1').and(app.page.locator('[data-done=true]')).waitFor();
});

visit('a replay that fails leaves the report that it began with', { webgpu: false, query: { model: 'calibration', rows: '1280' }, shim: '0' }, async (app) => {
  const saved = await app.measure();
  await app.afresh();
  const open = (report) => app.element('report-file').setInputFiles({
    name: 'report.json', mimeType: 'application/json', buffer: Buffer.from(JSON.stringify(report)),
  });
  await open(saved);
  await app.element('replay').waitFor();
  // As many others as are kept, so that the replay makes room for the report that it began with.
  const others = app.element('overlay-select').locator('option');
  for (let number = 0; number < 20; number += 1) {
    await open({ ...saved, model: { ...saved.model, id: `other ${number}` } });
    await others.filter({ hasText: `other ${number}` }).first().waitFor({ state: 'attached' });
  }
  const kept = await others.allInnerTexts();
  await app.page.route('**/models/calibration/model.safetensors*', (route) => route.fulfill({ status: 404, body: 'gone' }));
  await app.element('replay').click();
  await app.element('error').waitFor();
  assert.match(await app.error(), /model\.safetensors/);
  assert.equal(await app.element('row-0').count(), 1, 'the report is there');
  assert.equal((await app.report()).blocks.length, saved.blocks.length);
  assert.ok(kept.length >= 20, `${kept.length} are kept`);
  assert.deepEqual(await others.allInnerTexts(), kept, 'the same are kept');
  await app.page.unroute('**/models/calibration/model.safetensors*');
  await app.order(app.element('replay'));
  assert.equal(await app.ended(), 'finished');
  assert.equal(await app.element('differences').getAttribute('data-most'), '0');
  app.faults.length = 0; // The browser reports the missing file.
});

visit('a file of the site that never comes is given up, and the next measurement asks for it again', {
  webgpu: false, query: { model: 'calibration', rows: '1280' }, shim: impatient(200),
}, async (app) => {
  const weights = '**/models/calibration/model.safetensors*';
  await app.page.route(weights, () => {});
  await app.run();
  assert.equal(await app.ended(), 'failed');
  assert.match(await app.error(), /model\.safetensors: this site does not deliver it \(.*time.*\); check the connection/);
  await app.page.unroute(weights);
  assert.equal((await app.measure()).blocks.length, 6);
  app.faults.length = 0; // The browser may report the request that was given up.
});
