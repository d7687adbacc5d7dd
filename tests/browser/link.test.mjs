// Links: the whole configuration is restored from the address; invalid values are refused in a sentence; a teacher's
// link hides and locks; an embedded chart stands alone.
import assert from 'node:assert/strict';

import { visit } from './driver.mjs';

const FIELDS = {
  'model-select': 'demo-neox', 'text-select': 'puzzles:1', rows: '5120', 'seq-len': '64', folds: '4',
  'skip-positions': '1', gram: 'fast', backend: 'cpu',
};

/** Waits until the address contains `words`. */
const said = (app, words) => app.page.waitForFunction((words) => location.search.includes(words), words);

visit('every setting comes back from the address', { webgpu: false, query: {} }, async (app) => {
  await app.choose(FIELDS);
  await app.element('interleaved-folds').check();
  await app.element('measures-swap').check();
  await app.element('measures-rank-swap').check();
  await app.view('ranks');
  await app.element('block-select').selectOption('3');
  await said(app, 'block=3');
  const address = app.page.url();
  const expected = ['v=1', 'model=demo-neox', 'text=puzzles:1', 'rows=5120', 'seq_len=64', 'folds=4',
    'interleaved_folds=1', 'skip_positions=1', 'gram=fast', 'backend=cpu', 'measures=swap,rank-swap', 'view=ranks', 'block=3'];
  for (const part of expected) assert.ok(new URL(address).search.slice(1).split('&').includes(part), `${part} in ${address}`);

  await app.page.goto('about:blank');
  await app.page.goto(address);
  await app.started();
  for (const [name, value] of Object.entries(FIELDS)) assert.equal(await app.element(name).inputValue(), value, name);
  assert.equal(await app.element('interleaved-folds').isChecked(), true);
  assert.equal(await app.element('measures-swap').isChecked(), true);
  assert.equal(await app.element('measures-layers').isChecked(), false);
  assert.equal(await app.element('tab-ranks').getAttribute('aria-selected'), 'true');
  await app.page.waitForFunction(() => document.querySelector('[data-testid=block-select]')?.value === '3');
  assert.equal(app.page.url(), address);
});

visit('so does every setting of a continuation', { webgpu: false, query: { view: 'sides' } }, async (app) => {
  const prompt = 'The cook’s “50 %” & more:\nlived in';
  await app.element('sides-prompt').fill(prompt);
  await app.element('sides-none').click();
  for (const block of [0, 3, 4, 5]) await app.element(`sides-block-${block}`).click();
  await app.element('sides-tokens').fill('7');
  await app.element('sides-sampling').evaluate((fold) => { fold.open = true; });
  await app.element('sides-temperature').fill('0,80');
  await app.element('sides-seed').fill('3');
  await said(app, 'seed=3');
  const address = app.page.url();
  const parts = new URL(address).search.slice(1).split('&');
  for (const part of ['view=sides', 'linear=0,3-5', 'tokens=7', 'temperature=0.8', 'seed=3']) assert.ok(parts.includes(part), `${part} in ${address}`);
  await app.element('class').evaluate((fold) => { fold.open = true; });
  const search = (url) => new URL(url).search.slice(1).split('&').sort();
  assert.deepEqual(search(await app.element('link').inputValue()), search(address), 'the fold says the same');

  await app.page.goto('about:blank');
  await app.page.goto(address);
  await app.started();
  assert.equal(await app.element('sides-prompt').inputValue(), prompt);
  const expected = [true, false, false, true, true, true];
  for (const [block, is_linear] of expected.entries()) {
    assert.equal(await app.element(`sides-block-${block}`).getAttribute('aria-pressed'), String(is_linear), `block ${block}`);
  }
  assert.deepEqual(await Promise.all(['tokens', 'temperature', 'seed'].map((name) => app.element(`sides-${name}`).inputValue())), ['7', '0.8', '3']);
  assert.equal(await app.element('sides-status').getAttribute('data-phase'), 'idle', 'no link starts anything');
  assert.equal(app.page.url(), address);

  await app.element('sides-prompt').fill('a'.repeat(501));
  await app.page.waitForFunction(() => !location.search.includes('prompt='));
  assert.match(await app.element('sides-long').innerText(), /500 characters/);
  // Blocks of one model mean nothing in another.
  await app.element('model-select').selectOption('demo-neox');
  await said(app, 'model=demo-neox');
  await app.page.waitForFunction(() => !location.search.includes('linear='));
});

visit('what a link cannot mean is refused in a sentence, and the page works', { webgpu: false, query: {} }, async (app) => {
  const site = new URL(app.page.url());
  const hostile = { view: 'secrets', v: '7', hub: '../../x', mirror: 'javascript:alert(1)', rows: '-1', model: '<img src=x onerror=alert(1)>', text: 'tales:x', lock: 'everything', linear: '5-3', prompt: '' };
  for (const [name, value] of Object.entries(hostile)) {
    site.search = new URLSearchParams({ [name]: value }).toString();
    await app.page.goto(site.href);
    await app.started();
    assert.match(await app.error(), /\S+/, name);
    assert.equal(await app.element('chart').locator('svg:visible circle.dot').count(), 6, name);
  }
  site.search = '?model=absent';
  await app.page.goto(site.href);
  await app.started();
  assert.match(await app.error(), /absent/);
});

/** Invalid values, each with its error. */
const REFUSED = {
  rows: [['-1', /0 or more/], ['99999999999999999999', /at most 999999999/], ['1e9', /whole number/]],
  block: [['-3', /0 or more/], ['18446744073709551616', /at most 999999999/]],
  linear: [['0-99999999', /below 10000/], ['5-3', /list such as 0,3-5/]],
  folds: [['1', /at least 2/], ['4096', /1000/]],
};

visit('a wrong value is named and left out, and the rest of the link holds', { webgpu: false, query: {} }, async (app) => {
  const site = new URL(app.page.url());
  for (const [name, cases] of Object.entries(REFUSED)) {
    for (const [value, words] of cases) {
      site.search = new URLSearchParams({ v: '1', model: 'demo-neox', view: 'losses', seq_len: '64', [name]: value }).toString();
      await app.page.goto(site.href);
      await app.started();
      const text = await app.error();
      assert.ok(text.includes(name), `${name}=${value}: ${text}`);
      assert.match(text, words, `${name}=${value}`);
      assert.equal(await app.element('model-select').inputValue(), 'demo-neox', `${name}=${value}`);
      assert.equal(await app.element('seq-len').inputValue(), '64', `${name}=${value}`);
      assert.equal(await app.element('tab-losses').getAttribute('aria-selected'), 'true', `${name}=${value}`);
    }
  }
  site.search = '?v=1&rows=x&backend=tpu&folds=4';
  await app.page.goto(site.href);
  await app.started();
  const text = await app.error();
  assert.ok(text.includes('rows') && text.includes('backend'), `all that is refused is named: ${text}`);
  assert.equal(await app.element('folds').inputValue(), '4');
});

visit('a block that the model does not have is told, and not another one shown', { webgpu: false, query: { view: 'block', block: '99' } }, async (app) => {
  await app.waitForText('block-none', /no block 99.*0 to 5/);
  assert.equal(await app.element('block-title').count(), 0);
});

visit('blocks that the model does not have are told in Side by side', { webgpu: false, query: { view: 'sides', linear: '0-99' } }, async (app) => {
  await app.waitForText('sides-absent', /6–99|6-99/);
  assert.equal(await app.element('sides-block-5').getAttribute('aria-pressed'), 'true');
});

visit('no sentence is wider than the page, however long its words', { webgpu: false, query: {} }, async (app) => {
  await app.page.setViewportSize({ width: 390, height: 800 });
  const wide = 'w'.repeat(60);
  const site = new URL(app.page.url());
  const overflow = () => app.page.evaluate(() => {
    const { scrollWidth, clientWidth } = document.documentElement;
    return scrollWidth - clientWidth;
  });
  for (const search of [`?model=${wide}`, `?view=${wide}`, `?v=1&hub=${wide}/${wide}@${wide}&mirror=http://127.0.0.1:1`]) {
    site.search = search;
    await app.page.goto(site.href);
    await app.started();
    if (search.includes('hub')) await app.element('preflight').and(app.page.locator('[data-state=failed]')).waitFor();
    assert.equal(await overflow(), 0, search);
  }
  await app.page.goto(new URL('?v=1&model=demo-gpt2', site).href);
  await app.started();
  await app.element('report-file').setInputFiles({ name: `${wide}${wide}.json`, mimeType: 'application/json', buffer: Buffer.from('{}') });
  await app.element('error').waitFor();
  assert.equal(await overflow(), 0, 'a file with a long name');
  app.faults.length = 0; // Nothing listens at the mirror.
});

visit('a teacher’s link holds still and hides, and was made on the page', { webgpu: false, query: {} }, async (app) => {
  await app.element('class').evaluate((fold) => { fold.open = true; });
  await app.element('frame-model').selectOption('lock');
  await app.element('frame-protocol').selectOption('hide');
  await app.element('frame-views').selectOption('hide');
  const link = await app.element('link').inputValue();
  assert.match(link, /hide=protocol,views&lock=model/);
  await app.page.goto(link);
  await app.started();
  assert.equal(await app.element('model-select').isDisabled(), true);
  assert.equal(await app.element('text-select').isDisabled(), false);
  for (const gone of ['protocol', 'group-swap', 'class']) assert.equal(await app.element(gone).count(), 0, gone);
  assert.equal(await app.element('run').isEnabled(), true);
});

visit('an embedded chart stands alone, asks for no engine, and leads back', { webgpu: false, query: { embed: '1', view: 'losses' } }, async (app) => {
  await app.element('embedded').waitFor();
  const asked = [];
  app.page.on('request', (request) => asked.push(request.url()));
  await app.page.reload();
  await app.element('embedded').waitFor();
  await app.element('chart-0').locator('path.mark').first().waitFor();
  for (const gone of ['model-select', 'run', 'group-swap']) assert.equal(await app.element(gone).count(), 0, gone);
  const back = await app.element('link-back').getAttribute('href');
  assert.ok(back.includes('view=losses') && !back.includes('embed'), back);
  assert.deepEqual(asked.filter((url) => url.includes('worker') || url.includes('engine')), []);
});
