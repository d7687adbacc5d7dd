// The page in German: chosen by a link or by the browser, with numbers as they are written there, while files and links
// hold them as in English; and definitions of terms, by keyboard and by touch.
import assert from 'node:assert/strict';

import { assertClose, findings, visit } from './driver.mjs';
import { parsed } from './files.mjs';

const RECORDED = new URL('data/recorded/demo-neox.json', process.env.STRAIGHTEDGE_URL);

const recorded = async () => (await fetch(RECORDED)).json();
const language = (app) => app.page.evaluate(() => document.documentElement.lang);
const parameter = (app, name) => new URL(app.page.url()).searchParams.get(name);

visit('a link with lang=de opens the page in German, with decimal commas, and exports have points', { webgpu: false, query: { lang: 'de', model: 'demo-neox' } }, async (app) => {
  const { blocks } = await recorded();
  assert.equal(await language(app), 'de');
  assert.match(await app.element('run').innerText(), /messen/i);
  assert.match(await app.element('tab-profile').innerText(), /^Profil$/);
  assert.match(await app.element('finding').innerText(), /linear ist Block \d+ \(0,\d\d\)/);
  assert.match(await app.page.locator('.foot a').innerText(), /^Lizenzen/);
  for (const [at, { r2_lin: expected }] of blocks.entries()) {
    const cell = app.element(`row-${at}`).locator('[data-column=r2_lin]');
    const [, shown, end] = (await cell.innerText()).match(/^(\d+,\d+) ± (\d+,\d+)$/);
    const number = (text) => Number(text.replace(',', '.'));
    // Rounded to the last digit of its interval's half-width.
    assertClose(`block ${at} shown`, number(shown), expected, 10 ** -end.split(',')[1].length);
    assertClose(`block ${at} in full`, number(await cell.getAttribute('title')), expected, 1e-15);
  }
  const [head, ...rows] = parsed((await app.saved('csv-profile')).bytes.toString());
  assert.equal(head[1], 'R²_lin');
  for (const [at, { r2_lin: expected }] of blocks.entries()) assertClose(`block ${at} in the table`, Number(rows[at][1]), expected, 1e-15);
  const { chart } = JSON.parse((await app.saved('json-profile')).bytes.toString());
  assert.deepEqual(chart.series[0].points.map(({ y }) => y), blocks.map(({ r2_lin }) => r2_lin));
});

visit('the switch changes the language and keeps the rest of the link', { webgpu: false, query: { model: 'demo-neox', view: 'losses', rows: '5120' } }, async (app) => {
  assert.equal(await language(app), 'en');
  for (const [id, words] of [['de', 'Was das Modell verliert'], ['en', 'What the model loses']]) {
    await app.element(`language-${id}`).click();
    await app.page.waitForFunction((id) => document.documentElement.lang === id, id);
    await app.started();
    assert.deepEqual(['lang', 'model', 'view', 'rows'].map((name) => parameter(app, name)), [id, 'demo-neox', 'losses', '5120']);
    assert.equal(await app.element('model-select').inputValue(), 'demo-neox');
    await app.page.getByText(words).first().waitFor();
    // The language in use is no link.
    assert.equal(await app.element(`language-${id}`).count(), 0);
  }
});

visit('without a language in the link the browser’s is taken', { webgpu: false, query: {}, locale: 'de-AT' }, async (app) => {
  assert.equal(await language(app), 'de');
  assert.equal(parameter(app, 'lang'), null);
  await app.element('recorded-texts').waitFor();
  assert.match(await app.element('tab-sides').innerText(), /^Nebeneinander$/);
  assert.equal(await app.element('sides-block-0').innerText().then((text) => /\d,\d\d/.test(text)), true);
  assert.equal(await app.element('sides-prompt').inputValue(), 'A day in');
});

visit('a link with lang=en is English in a German browser', { webgpu: false, query: { lang: 'en' }, locale: 'de' }, async (app) => {
  assert.equal(await language(app), 'en');
  assert.match(await app.element('tab-sides').innerText(), /^Side by side$/);
});

/** Words that no German sentence holds, but most English ones. */
const ENGLISH = /\b(the|of|are|is|with|use|give|and|rows|windows|than)\b/i;

visit('errors and warnings of the engine are German', { webgpu: false, query: { lang: 'de', model: 'demo-gpt2', seq_len: '32', rows: '288', linear: '0-99', seed: 'x' } }, async (app) => {
  const refused = await app.waitForText('error', /seed in diesem Link/);
  assert.match(refused, /ganze Zahl/);
  assert.doesNotMatch(refused.replaceAll(/\b(seed|linear)\b/g, ''), ENGLISH);
  await app.element('run').click();
  assert.equal(await app.ended(), 'finished');
  const said = await app.element('warnings').innerText();
  assert.match(said, /nur \d Testfenster/);
  assert.match(said, /Blöcke 0[–-]5: \d+ Trainingszeilen/);
  assert.doesNotMatch(said, ENGLISH);
});

visit('the German page has no serious finding', { webgpu: false, query: { lang: 'de' } }, async (app) => {
  await app.page.emulateMedia({ reducedMotion: 'reduce' });
  for (const width of [1280, 390]) {
    await app.page.setViewportSize({ width, height: 900 });
    await app.page.evaluate(() => document.querySelectorAll('details').forEach((fold) => { fold.open = true; }));
    for (const view of ['profile', 'losses', 'sides']) {
      await app.view(view);
      assert.deepEqual(await findings(app.page), [], `${width} wide, ${view}`);
    }
    const overflow = await app.page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
    assert.ok(overflow <= 0, `${overflow} pixels too wide at ${width}`);
  }
  await app.element('lesson-open').click();
  assert.match(await app.element('step-title-1').innerText(), /Feed-Forward-Netz/);
  assert.deepEqual(await findings(app.page), [], 'lesson');
});

visit('terms in headings and table heads say what they mean, by pointer, keyboard and touch', { webgpu: false, query: { view: 'ranks' } }, async (app) => {
  const term = app.element('figure-0').locator('h3 .term', { hasText: /^rank$/i });
  assert.match(await term.getAttribute('title'), /independent directions/);
  assert.equal(await app.element('definition').count(), 0);
  await term.focus();
  const shown = await app.waitForText('definition', /independent directions/);
  assert.equal(shown, await term.getAttribute('title'));
  const [at, box] = [await term.boundingBox(), await app.element('definition').boundingBox()];
  assert.ok(box.y >= at.y + at.height && box.y < at.y + at.height + 20, 'below its term');
  await app.page.keyboard.press('Escape');
  await app.element('definition').waitFor({ state: 'detached' });
  await term.click();
  await app.element('definition').waitFor();
  await app.page.keyboard.press('Tab');
  await app.element('definition').filter({ hasText: shown }).waitFor({ state: 'detached' });
  await app.view('profile');
  const head = app.element('table').locator('thead .term', { hasText: 'R²lin' });
  await head.click();
  await app.waitForText('definition', /Held-out R² of the best affine map/);
});
