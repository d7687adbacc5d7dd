// Accessibility: no serious axe-core finding in light and dark, wide and narrow; by keyboard alone from opening to a
// saved chart; installable.
import assert from 'node:assert/strict';

import { findings, tabTo, visit } from './driver.mjs';

visit('axe-core finds nothing serious', { webgpu: false, query: {} }, async (app) => {
  for (const colorScheme of ['light', 'dark']) {
    for (const width of [1280, 390]) {
      await app.page.emulateMedia({ colorScheme, reducedMotion: 'reduce' });
      await app.page.setViewportSize({ width, height: 900 });
      await app.page.evaluate(() => document.querySelectorAll('details').forEach((fold) => { fold.open = true; }));
      for (const view of ['profile', 'losses', 'ranks']) {
        await app.view(view);
        assert.deepEqual(await findings(app.page), [], `${colorScheme}, ${width} wide, ${view}`);
      }
    }
  }
});

visit('names that are heard begin with the words that are seen, under Compare as well', { webgpu: false, query: { view: 'compare' } }, async (app) => {
  await app.element('runs').locator('[data-testid=measure]').first().waitFor();
  const named = await findings(app.page, { rules: { 'label-content-name-mismatch': { enabled: true } } });
  assert.deepEqual(named, []);
  // One that is heard otherwise is found.
  await app.element('run').evaluate((button) => button.setAttribute('aria-label', 'Something else'));
  const spoilt = await findings(app.page, { rules: { 'label-content-name-mismatch': { enabled: true } } });
  assert.equal(spoilt.length, 1, String(spoilt));
});

visit('an embedded chart begins with a heading of the first level', { webgpu: false, query: { embed: '1' } }, async (app) => {
  await app.element('embedded').waitFor();
  assert.deepEqual(await app.page.locator('h1, h2, h3').evaluateAll((all) => all.filter((heading) => heading.offsetParent).map((heading) => heading.localName)).then((names) => names.slice(0, 1)), ['h1']);
});

visit('the keyboard alone leads from opening to a saved chart', { webgpu: false }, async (app) => {
  const { keyboard } = app.page;
  await tabTo(app.page, 'run');
  await keyboard.press('Enter');
  assert.equal(await app.ended(), 'finished');
  await tabTo(app.page, 'chart');
  await keyboard.press('Home');
  assert.match(await app.element('readout').innerText(), /Block 0: R² 1\.000000/);
  await tabTo(app.page, 'svg-profile');
  const [download] = await Promise.all([app.page.waitForEvent('download'), keyboard.press('Enter')]);
  assert.match(download.suggestedFilename(), /\.svg$/);
});

visit('the page can be installed', { webgpu: false, query: {} }, async (app) => {
  const session = await app.page.context().newCDPSession(app.page);
  const { errors, url } = await session.send('Page.getAppManifest');
  assert.match(url, /app\.webmanifest$/);
  assert.deepEqual(errors, []);
});
