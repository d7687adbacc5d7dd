// Every known profile under Compare as a card: found by words, sorted by a metric, compared and opened.
import assert from 'node:assert/strict';

import { visit } from './driver.mjs';

visit('profiles are cards that are searched, sorted, compared and opened', {
  webgpu: false, query: { view: 'compare' }, hasSilentHub: true,
}, async (app) => {
  const cards = app.element('card');
  await cards.filter({ hasText: 'gpt2 · WikiText-2' }).first().waitFor();
  const all = await cards.count();
  await app.element('cards-search').fill('demo recorded');
  await app.page.waitForFunction((all) => document.querySelectorAll('[data-testid=card]').length < all, all);
  assert.ok(await cards.count() >= 11);
  await app.element('cards-sort').selectOption('r2_lin');
  const means = () => cards.locator('p.note').evaluateAll((notes) => notes.map((note) => Number(note.textContent.match(/mean ([\d.]+)/)?.[1])));
  await app.page.waitForFunction(() => {
    const found = [...document.querySelectorAll('[data-testid=card] p.note')].map((note) => Number(note.textContent.match(/mean ([\d.]+)/)?.[1]));
    return found.every((mean, at) => at === 0 || found[at - 1] >= mean);
  });
  assert.ok((await means()).every(Number.isFinite));
  assert.match(await cards.first().innerText(), /\d of 6 blocks more than half linear/);

  await app.element('cards-search').fill('gpt2 wikitext published');
  const published = cards.filter({ hasText: 'gpt2 · WikiText-2' }).first();
  await published.getByTestId('card-add').click();
  await app.element('runs').filter({ hasText: 'gpt2 · WikiText-2' }).waitFor();
  assert.ok(await published.getByTestId('card-add').isDisabled(), 'it is compared already');
  await published.getByTestId('card-open').click();
  await app.element('chart').waitFor();
  assert.match(await app.element('status').innerText() + await app.element('overlay-note').innerText(), /published/i);
  await app.element('cards-search').waitFor({ state: 'detached' });
});
