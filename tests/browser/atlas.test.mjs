// Models measured when the page was built: an atlas written by the real command line, listed under Compare, compared
// with published values, opened, and restored from a link; and the failed one, with its error.
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';

import { assertClose, open, trial, visit } from './driver.mjs';

const run = promisify(execFile);
const ROOT = fileURLToPath(new URL('../../', import.meta.url));
const json = async (path) => JSON.parse(await readFile(path, 'utf8'));

const LIST = `
[defaults]
rows = 640
seq_len = 32
backend = "cpu"

[[model]]
id = "made"
title = "Made <i>model</i>"
text = "tales:1"
published = { model = "gpt2", corpus = "WikiText-2" }

[[model]]
id = "broken"
text = "tales:1"

[[model]]
id = "calibration"
`;

/** A folder with an atlas: a synthetic model as deep as GPT-2, one that cannot be measured, a bundled one. */
async function atlas(t) {
  const folder = await mkdtemp(join(tmpdir(), 'straightedge-atlas-'));
  t.after(() => rm(folder, { recursive: true }));
  for (const [name, shape] of [['made', '12x64'], ['broken', '1x64']]) {
    await run(process.env.XTASK, ['made-model', join(folder, name), '--shape', shape]);
  }
  const config = join(folder, 'broken/config.json');
  await writeFile(config, (await readFile(config, 'utf8')).replace('"model_type":"gpt2"', '"model_type":"<b>mamba</b>"'));
  const [list, out] = ['atlas.toml', 'out'].map((name) => join(folder, name));
  await writeFile(list, LIST);
  await run(process.env.STRAIGHTEDGE, ['atlas', list, '--out', out], { cwd: ROOT, maxBuffer: 1 << 24 });
  return out;
}

/** The page with this atlas instead of its own. Nothing is cached, so that every file is requested. */
async function opened(t, folder, query, body) {
  const app = await open({
    webgpu: false,
    query,
    before: async (page) => {
      await page.addInitScript(() => { delete Navigator.prototype.serviceWorker; });
      await page.route('**/data/atlas/*', async (route) => {
        const name = basename(new URL(route.request().url()).pathname);
        await route.fulfill({ contentType: 'application/json', body: await readFile(join(folder, name)) });
      });
    },
  });
  try {
    await app.started();
    await body(app);
    assert.deepEqual(app.faults, []);
  } finally {
    await app.browser.close();
  }
}

/** The full-precision series of a figure, by name. */
async function series(app, at) {
  const { chart } = JSON.parse((await app.saved(`json-${at}`)).bytes.toString());
  return Object.fromEntries(chart.series.map(({ name, points }) => [name, points.map(({ y }) => y)]));
}

/** Compares numbers that were written and read again, which may change their last digit. */
function assertSame(what, found, expected) {
  assert.equal(found?.length, expected.length, what);
  expected.forEach((value, block) => assertClose(`${what}, block ${block}`, found[block], value, 1e-12));
}

const names = (app) => app.element('runs').locator('li .name').allInnerTexts();
const SLUG = 'made-tales-1';
const NAME = 'Made <i>model</i> · tales:1';

trial('models measured by the build are listed, compared with published values, opened and linked to', async (t) => {
  const folder = await atlas(t);
  const index = await json(join(folder, 'index.json'));
  const report = await json(join(folder, `${SLUG}.json`));
  const { models: [gpt2] } = await json(join(ROOT, 'web/data/published.json'));
  assert.deepEqual(index.models.map(({ slug, state }) => [slug, state]), [[SLUG, 'measured'], ['broken-tales-1', 'failed'], ['calibration', 'measured']]);
  const scalar = report.blocks.map((block) => block.r2_lin_scalar);
  const differences = scalar.map((value, block) => Math.abs(value - gpt2.r2_lin_scalar['WikiText-2'][block]));
  assert.equal(differences.length, 12);
  const most = Math.max(...differences);

  let address;
  await opened(t, folder, {}, async (app) => {
    const asked = [];
    app.page.on('request', (request) => asked.push(new URL(request.url()).pathname));
    assert.equal(await app.element('atlas').count(), 0);
    await app.view('compare');
    await app.element('atlas').locator('li').nth(2).waitFor();
    assert.equal(asked.filter((path) => path.endsWith('data/atlas/index.json')).length, 1, 'only once Compare is open');

    const made = app.element(`atlas-${SLUG}`);
    const text = await made.innerText();
    assert.match(text, /Made <i>model<\/i>\s+made, on tales:1 · measured \d{4}-\d\d-\d\d/);
    const [, value, block] = text.match(/R² scalar is ([\d.]+) from the published values of gpt2 on WikiText-2 at most, in block (\d+)/);
    assertClose('largest difference', Number(value), most, 0.005 * most);
    assert.equal(Number(block), differences.indexOf(most));
    const failed = app.element('atlas-broken-tales-1');
    assert.match(await failed.innerText(), /Not measured: config\.json: architecture <b>mamba<\/b> is not supported/);
    assert.equal(await failed.locator('b').count() + await failed.getByRole('button').count(), 0, 'a sentence, and nothing else');

    await made.getByTestId('atlas-add').click();
    await app.element('figure-1').waitFor();
    assert.deepEqual((await names(app)).slice(-2), [NAME, 'gpt2 · WikiText-2']);
    assert.ok(await made.getByTestId('atlas-add').isDisabled(), 'it is compared already');
    const shown = await series(app, 1);
    assertSame('scalar', shown[`${NAME} (measured by this build)`], scalar);
    assert.deepEqual(shown['gpt2 · WikiText-2 (published)'], gpt2.r2_lin_scalar['WikiText-2']);
    await app.page.waitForFunction((slug) => location.search.includes(`atlas:${slug}`), SLUG);
    address = app.page.url();

    await made.getByTestId('atlas-open').click();
    await app.waitForText('status', /./);
    await app.element('chart').locator('svg:visible circle.dot').nth(11).waitFor();
    const opened = await app.report();
    assert.deepEqual(opened.model, report.model);
    assertSame('opened', opened.blocks.map((block) => block.r2_lin), report.blocks.map((block) => block.r2_lin));
  });

  const query = (runs) => ({ ...Object.fromEntries(new URL(address).searchParams), ...runs });
  await opened(t, folder, query({}), async (app) => {
    await app.element('runs').getByText(NAME, { exact: true }).waitFor();
    assert.equal(app.page.url(), address);
  });
  await opened(t, folder, query({ runs: 'recorded:demo-gpt2,atlas:broken-tales-1' }), async (app) => {
    await app.waitForText('error', /atlas:broken-tales-1 is not possible; this build has not measured that model/);
    assert.deepEqual(await names(app), ['Demo GPT-2']);
  });
});

visit('a build without an atlas lists none, and says nothing of it', { webgpu: false, query: {} }, async (app) => {
  const [response] = await Promise.all([
    app.page.waitForResponse((response) => response.url().endsWith('data/atlas/index.json')),
    app.view('compare'),
  ]);
  assert.deepEqual([response.status(), await response.json()], [200, { models: [] }]);
  await app.element('runs').locator('li').nth(2).waitFor();
  assert.equal(await app.element('atlas').count(), 0);
});
