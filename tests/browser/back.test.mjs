// Back and forward: opening a view or a block adds a history entry, so that Back leads to the earlier view and not out
// of the page; changing a setting adds none.
import assert from 'node:assert/strict';

import { visit } from './driver.mjs';

const isOpen = (app, view) => app.element(`tab-${view}`).and(app.page.locator('[aria-selected=true]')).waitFor();

const block = (app, words) => app.element('block-title').filter({ hasText: words }).waitFor();

visit('Back leads through views and blocks, and forward again', { webgpu: false, query: { view: 'profile' } }, async (app) => {
  const entries = () => app.page.evaluate(() => history.length);
  const before = await entries();
  await app.view('losses');
  await isOpen(app, 'losses');
  await app.view('block');
  await app.element('strip').locator('[data-block="2"]').click();
  await block(app, 'Block 2');
  await app.element('strip').locator('[data-block="4"]').click();
  await block(app, 'Block 4');
  assert.equal(await entries(), before + 5, 'a group opens on one of its views');
  await app.choose({ rows: 1280 });
  await app.page.waitForFunction(() => location.search.includes('rows=1280'));
  assert.equal(await entries(), before + 5, 'a number that is typed is no step');

  await app.page.goBack();
  await block(app, 'Block 2');
  await app.page.goBack();
  await app.page.goBack();
  await app.page.goBack();
  await isOpen(app, 'losses');
  await app.page.goBack();
  await isOpen(app, 'profile');
  assert.match(app.page.url(), /rows=1280/, 'what was set meanwhile stays set');
  assert.equal(await app.element('rows').inputValue(), '1280');
  await app.page.goForward();
  await isOpen(app, 'losses');
});

visit('a click on a block in the profile is undone by Back', { webgpu: false, query: { view: 'profile' } }, async (app) => {
  await app.element('row-3').click();
  await block(app, 'Block 3');
  await app.page.goBack();
  await isOpen(app, 'profile');
  assert.equal(await app.element('row-3').count(), 1);
});
