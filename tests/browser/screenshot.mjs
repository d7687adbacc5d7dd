// Takes the README's pictures: the demo model measured over its recording, one of its blocks, a comparison, the first view
// on a phone, losses in the dark, a step of the lesson.
import { open } from './driver.mjs';

const [, , folder] = process.argv;

/** One picture of the page after `prepare`, of all of it or of its first `height`. */
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

await picture('page', {}, async (app) => {
  await app.element('measure-here').click();
  await app.ended();
});
await picture('block', {}, async (app) => {
  await app.element('measure-here').click();
  await app.ended();
  await app.element('tab-block').click();
  await app.element('strip').locator('[data-block="2"]').click();
});
await picture('compare', { query: { view: 'compare', compare: 'survey' } }, (app) => app.element('chart-0').locator('path.mark').nth(50).waitFor());
await picture('phone', { width: 390 });
await picture('dark', { query: { view: 'losses' }, colorScheme: 'dark' });
await picture('lesson', { query: { lesson: '2' }, height: 1580 }, async (app) => {
  await app.element('handle-low').focus();
  for (let at = 0; at < 3; at += 1) await app.page.keyboard.press('PageUp');
});
