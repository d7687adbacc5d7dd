// Every result names its own model, text, date and device above its chart, independent of the form.
import assert from 'node:assert/strict';

import { visit } from './driver.mjs';

/** Opens a report from a file. */
const openReport = (app, report) => app.element('report-file').setInputFiles({
  name: 'report.json', mimeType: 'application/json', buffer: Buffer.from(JSON.stringify(report)),
});

const today = () => new Date().toISOString().slice(0, 10);

/** Waits until the description of the result contains all of these words. */
async function says(app, ...words) {
  const text = await app.element('about-result').innerText();
  for (const word of words) assert.ok(text.includes(word), `${word} in: ${text}`);
  return text;
}

visit('a recording and a measurement name their own model, text, day and device', { webgpu: false, query: { rows: '1280' } }, async (app) => {
  await says(app, 'demo-gpt2', 'tales:1', 'recorded');
  const before = today();
  await app.run();
  await app.element('model-select').selectOption('demo-neox');
  assert.equal(await app.ended(), 'finished');
  assert.equal(await app.element('model-select').inputValue(), 'demo-neox', 'another model is chosen');
  const report = await app.report();
  assert.ok(report.date >= before && report.date.slice(0, 10) <= today(), report.date);
  const text = await says(app, 'demo-gpt2', 'tales:1', report.date.slice(0, 10), 'CPU');
  assert.doesNotMatch(text, /neox/);
  for (const view of ['losses', 'block', 'ranks']) {
    await app.view(view);
    await says(app, 'demo-gpt2', 'tales:1');
  }
});

visit('so does an opened report, and what is published, and an embedded chart', {
  webgpu: false, query: { rows: '1280' }, hasSilentHub: true,
}, async (app) => {
  const report = await app.measure();
  await app.afresh();
  await openReport(app, { ...report, date: '2024-02-29T12:00:00Z', model: { ...report.model, id: 'someone/else' } });
  await app.element('replay').waitFor();
  await says(app, 'someone/else', 'tales:1', '2024-02-29');
  // A malformed date is not shown.
  await app.afresh();
  await openReport(app, { ...report, date: '<b>now</b>' });
  await app.element('replay').waitFor();
  assert.doesNotMatch(await says(app, 'demo-gpt2'), /<b>|now/);

  await app.afresh();
  await app.element('known-openai-community/gpt2').click();
  await says(app, 'openai-community/gpt2', 'published');
  const site = new URL(app.page.url());
  site.search = '?v=1&embed=1&model=demo-llama';
  await app.page.goto(site.href);
  await app.page.locator('[data-testid=about-result]', { hasText: 'demo-llama' }).waitFor();
});
