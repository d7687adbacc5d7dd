// Takes the documents' pictures: the demo model measured with its recording as overlay, one of its blocks, a
// comparison, the first view on a phone, losses in dark mode, a step of the lesson. Then the site's own: the preview
// picture for links to the page, and icons for platforms that take no SVG.
//
// usage: screenshot.mjs FOLDER_OF_DOCUMENTS FOLDER_OF_THE_SITE
import { readFile } from 'node:fs/promises';

import { open } from './driver.mjs';

const [, , folder, site] = process.argv;

/** One picture of the page after `prepare`: the whole page, or its first `height` pixels. */
async function picture(name, { webgpu = false, query = {}, width = 1280, height, colorScheme = 'light' }, prepare) {
  const before = async (page) => {
    await page.setViewportSize({ width, height: height ?? 900 });
    await page.emulateMedia({ colorScheme, reducedMotion: 'reduce' });
  };
  const app = await open({ webgpu, query, before });
  await app.started();
  await app.element('extent').waitFor();
  await prepare?.(app);
  await app.page.mouse.move(0, 0);
  await app.page.screenshot({ path: `${folder}/${name}.png`, fullPage: !height, animations: 'disabled' });
  await app.browser.close();
}

await picture('page', { query: { view: 'profile' } }, async (app) => {
  await app.element('run').click();
  await app.ended();
});
await picture('block', { query: { view: 'profile' } }, async (app) => {
  await app.element('run').click();
  await app.ended();
  await app.view('block');
  await app.element('strip').locator('[data-block="2"]').click();
});
await picture('compare', { query: { view: 'compare', compare: 'survey' } }, (app) => app.element('chart-0').locator('path.mark').nth(50).waitFor());
await picture('sides', {});
await picture('phone', { width: 390, height: 844 });
await picture('dark', { query: { view: 'losses' }, colorScheme: 'dark' });
await picture('lesson', { query: { lesson: '2' }, height: 1580 }, async (app) => {
  await app.element('handle-low').focus();
  for (let at = 0; at < 3; at += 1) await app.page.keyboard.press('PageUp');
});

/** Parts hidden in the preview: all controls, and everything below the chart. */
const BESIDE = '.controls, .enter, [role=tablist], .known-bar, .overlay-bar, .standing button, .readout, figcaption, .exports, .foot';

/** The chart of the first view below the page's name and subject, in the size of previews. */
async function preview() {
  const before = async (page) => {
    await page.setViewportSize({ width: 1200, height: 630 });
    await page.emulateMedia({ colorScheme: 'light', reducedMotion: 'reduce' });
  };
  const app = await open({ webgpu: false, query: { view: 'profile' }, before });
  await app.started();
  await app.element('extent').waitFor();
  await app.page.evaluate((beside) => {
    const look = (selector, style) => document.querySelectorAll(selector).forEach((element) => Object.assign(element.style, style));
    look(beside, { display: 'none' });
    look('.bench', { display: 'block' });
    look('.head', { padding: '24px 0 22px' });
    look('body', { zoom: '0.93' });
  }, BESIDE);
  await app.page.screenshot({ path: `${site}/preview.png`, animations: 'disabled' });
  await app.browser.close();
}

/** The icon as a picture of `pixels` × `pixels`. */
async function icon(pixels) {
  const svg = await readFile(`${site}/icon.svg`, 'utf8');
  const app = await open({ webgpu: false });
  await app.page.setViewportSize({ width: pixels, height: pixels });
  await app.page.setContent(svg.replace('<svg', `<svg width="${pixels}" height="${pixels}" style="position: fixed; inset: 0"`));
  await app.page.screenshot({ path: `${site}/icon-${pixels}.png`, omitBackground: true });
  await app.browser.close();
}

await preview();
for (const pixels of [180, 192, 512]) await icon(pixels);
