// Numbers with an interval are rounded to what it allows, and keep all of their digits in titles, readouts and exports;
// those without one are rounded to four decimals.
import assert from 'node:assert/strict';

import { assertClose, digits, visit } from './driver.mjs';
import { parsed } from './files.mjs';

const recorded = async () => (await fetch(new URL('data/recorded/demo-gpt2.json', process.env.STRAIGHTEDGE_URL))).json();

/** The recording as a report with intervals of nothing but block 1's R² and its loss by the linear map. */
async function opened(app) {
  const report = await recorded();
  for (const block of report.blocks) block.intervals = {};
  const block = report.blocks[1];
  block.intervals = {
    r2_lin: { low: block.r2_lin - 0.0031, high: block.r2_lin + 0.0011 },
    delta_ppl_linear: { low: block.delta_ppl.linear - 0.04, high: block.delta_ppl.linear + 0.04 },
  };
  await app.element('report-file').setInputFiles({
    name: 'report.json', mimeType: 'application/json', buffer: Buffer.from(JSON.stringify(report)),
  });
  await app.element('replay').waitFor();
  return report;
}

for (const [lang, sign] of [['en', '.'], ['de', ',']]) {
  const point = (text) => text.replaceAll(sign, '.');

  visit(`rounded by their intervals, with all digits on hover and in exports (${lang})`, { webgpu: false, query: { view: 'profile', lang } }, async (app) => {
    const { blocks } = await opened(app);
    const [without, block] = blocks;
    const cell = (row, column) => app.element(`row-${row}`).locator(`[data-column=${column}]`);
    const rounded = `${block.r2_lin.toFixed(3)} ± 0.002`;
    assert.equal(point(await cell(1, 'r2_lin').innerText()), rounded);
    assert.equal(Number(point(await cell(1, 'r2_lin').getAttribute('title'))), block.r2_lin);
    assert.equal(point(await cell(0, 'r2_lin').innerText()), without.r2_lin.toFixed(4));

    const [head, ...rows] = parsed((await app.saved('csv-profile')).bytes.toString());
    const column = head.indexOf('R²_lin');
    for (const [at, { r2_lin }] of blocks.entries()) assertClose(`block ${at}`, Number(rows[at][column]), r2_lin, 1e-15);

    await app.element('chart').focus();
    for (const key of ['Home', 'ArrowRight']) await app.page.keyboard.press(key);
    const text = point(await app.element('readout').innerText());
    assert.ok(text.includes(`R² ${rounded} (${block.r2_lin.toFixed(6)})`), text);
    await app.page.keyboard.press('Enter');
    const number = app.element('block-numbers').locator('[data-field=r2_lin]');
    assert.equal(point(await number.innerText()), rounded);
    if (lang === 'en') assert.equal(await digits(number), block.r2_lin);

    await app.view('losses');
    await app.element('numbers-0').locator('summary').click();
    const loss = app.element('numbers-0').locator('tbody tr').nth(1).locator('td').nth(1);
    assert.equal(point(await loss.innerText()), `${block.delta_ppl.linear.toFixed(2)} ± 0.04`);
    assert.equal(Number(point(await loss.getAttribute('title'))), block.delta_ppl.linear);
  });
}
