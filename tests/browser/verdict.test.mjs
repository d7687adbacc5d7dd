// The sentence above the profile: what a recording, published values, an opened report and a measurement show, and that
// a measurement in progress is provisional and marks the block it is at.
import assert from 'node:assert/strict';

import { visit } from './driver.mjs';

visit('a sentence above the profile says what it shows, whatever it comes from', {
  webgpu: false, query: { view: 'profile' }, hasSilentHub: true,
}, async (app) => {
  const recorded = await app.waitForText('finding', /^Two of six blocks are more than half linear; block 1 is the least linear \(0\.41\) and block 0 the most \(0\.85\)\.$/);
  assert.ok((await app.element('chart').getAttribute('aria-label')).startsWith(recorded), 'it is heard with the chart');
  await app.element('known-openai-community/gpt2').click();
  await app.waitForText('finding', / of (12|twelve) blocks are more than half linear; block \d+/i);
  const report = await (await fetch(new URL('data/recorded/demo-llama.json', process.env.STRAIGHTEDGE_URL))).text();
  await app.element('report-file').setInputFiles({ name: 'llama.json', mimeType: 'application/json', buffer: Buffer.from(report) });
  // Published values are R² scalar, which stays chosen.
  const values = JSON.parse(report).blocks.map(({ r2_lin_scalar: value }) => value);
  const least = values.indexOf(Math.min(...values));
  await app.waitForText('finding', new RegExp(`block ${least} is the least linear \\(${values[least].toFixed(2)}\\)`));
  await app.view('sides');
  await app.view('profile');
  await app.waitForText('finding', /least linear/);
});

visit('while it is measured, the profile grows, and what it says is provisional', { webgpu: false }, async (app) => {
  await app.page.evaluate(() => {
    window.said = [];
    new MutationObserver(() => {
      const finding = document.querySelector('[data-testid=finding]');
      const marked = document.querySelectorAll('[data-testid=chart] rect.next').length;
      const dots = document.querySelectorAll('[data-testid=chart] circle.dot').length;
      window.said.push([finding?.textContent ?? '', finding?.className ?? '', marked, dots]);
    }).observe(document.body, { childList: true, subtree: true, characterData: true });
  });
  await app.measure();
  const said = await app.page.evaluate(() => window.said);
  const during = said.filter(([text]) => text.startsWith('So far, '));
  assert.ok(during.length > 0, JSON.stringify(said.slice(-5)));
  assert.ok(during.every(([, look]) => look.includes('so-far')), 'it looks provisional');
  assert.ok(said.some(([, , marked, dots]) => marked === 1 && dots > 0), 'the next block is marked while the first ones are there');
  const [text, look, marked] = said.at(-1);
  assert.match(text, /^\S.* blocks are more than half linear; /);
  assert.ok(!look.includes('so-far') && marked === 0, `${look}, ${marked} marked`);
});
