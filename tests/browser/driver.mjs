// A real Chromium with the built page, and checks for everything that must not happen there.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { test } from 'node:test';
import { setTimeout } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';

import { chromium } from 'playwright-core';

/** Longest wait for a measurement: a software adapter on a busy machine with two cores is slow. */
export const PATIENCE = 20 * 60_000;

/** Longest wait for anything else, generous for busy machines: only an event that never happens is a failure. */
const SOON = 2 * 60_000;

/** Milliseconds between saved files: Chromium drops a page's downloads beyond ten per second. */
const APART = 110;

const HUB = 'https://huggingface.co';

/** Models and texts for tests. */
export const FIXTURES = fileURLToPath(new URL('../fixtures', import.meta.url));

const QUIET = ['--no-first-run', '--disable-background-networking', '--disable-component-update', '--disable-sync', '--disable-quic'];

/** A script that a test changed has no address, and Chromium would refuse the mirror on this machine to its worker. */
const CHANGED = '--disable-features=LocalNetworkAccessChecks';

const AXE = fileURLToPath(new URL('node_modules/axe-core/axe.min.js', import.meta.url));

function setting(name) {
  const value = process.env[name];
  assert.ok(value, `${name} is not set; run the tests with: cargo xtask test browser`);
  return value;
}

/** A test that opens browsers itself. */
export function trial(name, body) {
  test(name, { timeout: 2 * PATIENCE }, body);
}

/** A test of the page in its own browser, with or without a WebGPU adapter. */
export function visit(name, how, body) {
  trial(name, (t) => opened(t, how, body));
}

/** Opens the page, and closes it afterwards. Any hidden fault is a failure, reported in addition to others. */
async function opened(t, { webgpu, mirror: folder, throttle, hasSilentHub, query, shim, before, locale }, body) {
  const mirror = folder && await startMirror(await folder(t), throttle);
  t.after(() => mirror?.stop());
  const app = await open({ webgpu, mirror, hasSilentHub, query, shim, before, locale });
  try {
    if (!query?.embed) await app.started();
    await body(app, t);
    assert.deepEqual(app.faults, []);
  } catch (error) {
    if (app.faults.length > 0) error.message += `\nbeside it: ${app.faults.join('\n')}`;
    throw error;
  } finally {
    await app.browser.close();
  }
}

/** The groups of views that have several. */
const GROUPS = {
  explore: ['profile', 'block', 'sides'],
  swap: ['losses', 'ranks', 'healing'],
  why: ['regimes', 'probes', 'baseline', 'controls', 'layers'],
};

/** The model most tests measure: known by construction, and quick. */
const CALIBRATION = { model: 'calibration' };

/**
 * Opens the page with names and values in its address; `before` prepares the browser's page first, and `shim` is a
 * script that the engine's worker runs before its own. `locale` is the browser's language. The page asks the hub for the
 * size of a model or text that is chosen from there; with `hasSilentHub` it may, and gets no answer.
 */
export async function open({ webgpu, mirror, hasSilentHub, query = CALIBRATION, before, shim, locale = 'en-US', waitUntil = 'load', address = setting('STRAIGHTEDGE_URL') }) {
  const browser = await chromium.launch({
    executablePath: setting('CHROMIUM'),
    args: ['--no-sandbox', ...QUIET, ...(webgpu ? ['--enable-unsafe-webgpu'] : []), ...(shim ? [CHANGED] : [])],
  });
  try {
    // A service worker would fetch the worker's script itself and reject a changed one.
    const serviceWorkers = shim ? 'block' : 'allow';
    // A context of its own, in which a test can open further tabs.
    const context = await browser.newContext({ viewport: { width: 1280, height: 1000 }, serviceWorkers, locale });
    const page = await context.newPage();
    page.setDefaultTimeout(SOON);
    const site = new URL(address);
    if (hasSilentHub) await context.route(`${HUB}/**`, () => {});
    const others = [mirror && new URL(mirror.url).hostname, hasSilentHub && new URL(HUB).hostname];
    const faults = watch(page, (url) => url.origin === site.origin || others.includes(url.hostname));
    for (const [name, value] of Object.entries(query)) site.searchParams.set(name, value);
    if (mirror) site.searchParams.set('mirror', mirror.url);
    if (shim) await put(page, shim);
    await before?.(page);
    await page.goto(site.href, { timeout: PATIENCE, waitUntil });
    return new App(browser, page, faults, mirror);
  } catch (error) {
    // An open browser would keep the tests from ending.
    await browser.close();
    throw error;
  }
}

/** Inserts a script before the engine's start script, so that the engine sees the changed environment. */
async function put(page, shim) {
  await page.route('**/engine.js', async (route) => {
    const response = await route.fetch();
    await route.fulfill({ response, body: `${shim};\n${await response.text()}` });
  });
}

/** Collects errors of any kind, CSP violations, and requests to other hosts. */
function watch(page, isAllowed) {
  const faults = [];
  page.on('console', (message) => {
    if (message.type() === 'error') faults.push(`console: ${message.text()} (${message.location().url})`);
  });
  page.on('pageerror', (error) => faults.push(`uncaught: ${error}`));
  page.on('crash', () => faults.push('the page crashed'));
  page.on('requestfailed', (request) => {
    const why = request.failure()?.errorText;
    // The page aborts requests it no longer needs: a preview when a measurement begins, an icon when the page is left.
    if (why !== 'net::ERR_ABORTED') faults.push(`failed: ${request.url()} (${why})`);
  });
  page.context().on('request', (request) => {
    const url = new URL(request.url());
    if (!['blob:', 'data:'].includes(url.protocol) && !isAllowed(url)) faults.push(`foreign request: ${request.url()}`);
  });
  return faults;
}

/** Serves a folder as a stand-in for the hub until it is stopped. */
export async function startMirror(folder, throttle) {
  const limit = throttle ? ['--throttle', String(throttle)] : [];
  const child = spawn(setting('XTASK'), ['hub', folder, '--port', '0', '--cdn-port', '0', ...limit]);
  const url = await new Promise((resolve, failed) => {
    let said = '';
    child.stdout.on('data', (text) => {
      said += text;
      const found = said.match(/http:\/\/[^\s/]+/);
      if (found) resolve(found[0]);
    });
    child.on('exit', (status) => failed(new Error(`the mirror ended with ${status}: ${said}`)));
  });
  const ask = async (path) => (await fetch(`${url}/__${path}`)).text();
  return {
    url,
    stop: () => child.kill(),
    fault: (kind, path, times) => ask(`fault?kind=${kind}&path=${encodeURIComponent(path)}&times=${times}`),
    reset: () => ask('reset'),
    stats: async () => JSON.parse(await ask('stats')),
  };
}

/** The page from the visitor's point of view. */
export class App {
  constructor(browser, page, faults, mirror) {
    Object.assign(this, { browser, page, faults, mirror });
  }

  element(name) {
    return this.page.getByTestId(name);
  }

  /** Opens a view, in its group. */
  async view(name) {
    const group = Object.keys(GROUPS).find((group) => GROUPS[group].includes(name));
    if (group) await this.element(`group-${group}`).click();
    await this.element(`tab-${name}`).click();
  }

  /** Waits until the engine has probed its device. */
  started() {
    return this.element('device').and(this.page.locator(':not([data-state=probing])')).waitFor();
  }

  /** Opens the page as a new tab does, which does not show the last result again. */
  async afresh() {
    await this.page.evaluate(() => sessionStorage.clear());
    await this.page.reload();
    await this.started();
  }

  /** The engine's worker; helpers start later. */
  engine() {
    const [worker] = this.page.workers();
    assert.ok(worker, 'the engine has a worker');
    return worker;
  }

  /** The device of measurements: `gpu`, `software` or `cpu`. */
  device() {
    return this.element('device').getAttribute('data-state');
  }

  async choose(settings) {
    await this.element('protocol').evaluate((fold) => { fold.open = true; });
    for (const [name, value] of Object.entries(settings)) {
      const field = this.element(name);
      const is_choice = await field.evaluate((element) => element.tagName === 'SELECT');
      await (is_choice ? field.selectOption(value) : field.fill(String(value)));
    }
  }

  /** Chooses a hub model by its id and waits for its preview or error. */
  async hub(id) {
    await this.choose({ 'model-select': ':hub' });
    await this.element('hub-id').fill(id);
    await this.element('hub-preview').click();
    const known = this.element('preflight').and(this.page.locator(':is([data-state=known], [data-state=refused], [data-state=failed])'));
    await known.waitFor();
    return known.getAttribute('data-state');
  }

  /** Waits until the engine has ended the measurement shown, and returns the memory it holds then. */
  async memory() {
    const status = this.element('status');
    await this.page.waitForFunction(() => {
      const { run, ended } = document.querySelector('[data-testid=status]').dataset;
      return Number(ended) >= Number(run);
    });
    const held = await status.evaluate((element) => ({ ...element.dataset }));
    return { gpu: Number(held.gpuBytes), wasm: Number(held.wasmBytes) };
  }

  /** Presses Cancel in the task in which something with these words appears, before the engine's next message is handled. */
  cancelWhenSeen(selector, words = '') {
    return this.page.evaluate(([selector, words]) => new Promise((pressed) => {
      const look = () => {
        const cancel = document.querySelector('[data-testid=cancel]');
        if (!cancel || !document.querySelector(selector)?.textContent.includes(words)) return;
        watcher.disconnect();
        cancel.click();
        pressed();
      };
      const watcher = new MutationObserver(look);
      watcher.observe(document.body, { childList: true, subtree: true, characterData: true });
    }), [selector, words]);
  }

  /** The same for words of the status. */
  cancelWhenSaid(words) {
    return this.cancelWhenSeen('[data-testid=status]', words);
  }

  run() {
    return this.order(this.element('run'));
  }

  /** Presses a button that orders a measurement, and waits until that one is shown; an earlier one may have ended. */
  async order(button) {
    const before = Number(await this.element('status').getAttribute('data-run'));
    await button.click();
    await this.page.waitForFunction((before) => {
      const { run } = document.querySelector('[data-testid=status]').dataset;
      return Number(run) > before;
    }, before);
  }

  /** Presses a button and returns name and bytes of the saved file. */
  async saved(button) {
    await setTimeout(APART);
    const [download] = await Promise.all([this.page.waitForEvent('download'), this.element(button).click()]);
    return { name: download.suggestedFilename(), bytes: await readFile(await download.path()) };
  }

  /** Waits until the measurement ends, for at most `timeout` milliseconds, 0 for any time; returns its phase. */
  async ended(timeout = PATIENCE) {
    const status = this.element('status');
    await status.and(this.page.locator(':is([data-phase=finished], [data-phase=cancelled], [data-phase=failed])'))
      .waitFor({ timeout });
    return status.getAttribute('data-phase');
  }

  /** Measures to the end, for at most `timeout` milliseconds, 0 for any time; returns the downloaded report. */
  async measure(timeout = PATIENCE) {
    await this.run();
    const phase = await this.ended(timeout);
    const error = phase === 'failed' ? await this.error() : '';
    assert.equal(phase, 'finished', error);
    return this.report();
  }

  /** Waits until an element's text matches `words`. */
  async waitForText(name, words) {
    const element = this.element(name).filter({ hasText: words });
    await element.waitFor().catch(async () => {
      const said = await this.element(name).allInnerTexts();
      assert.fail(`${name} says ${JSON.stringify(said)}, not ${words}`);
    });
    return element.innerText();
  }

  async report() {
    const { name, bytes } = await this.saved('download');
    assert.match(name, /\.json$/);
    return JSON.parse(bytes.toString());
  }

  error() {
    return this.element('error').innerText();
  }
}

/** All digits of a number of the page, which are its title where it shows fewer. */
export async function digits(number) {
  const text = (await number.getAttribute('title')) ?? (await number.innerText());
  return Number(text.replaceAll('−', '-').replace('×', ''));
}

/** Fails unless two numbers, or nulls, agree; NaN never agrees. */
export function assertClose(what, found, expected, tolerance) {
  if (expected === null) return assert.equal(found, null, what);
  assert.equal(typeof found, 'number', `${what}: ${found} is no number`);
  assert.ok(Math.abs(found - expected) <= tolerance, `${what}: ${found} where ${expected} was expected`);
}

/** Drops files on the middle of the page. */
export async function drop(page, files) {
  await page.evaluate((files) => {
    const data = new DataTransfer();
    for (const [name, base64] of files) {
      data.items.add(new File([Uint8Array.from(atob(base64), (letter) => letter.charCodeAt(0))], name));
    }
    const target = document.elementFromPoint(innerWidth / 2, innerHeight / 2);
    for (const type of ['dragenter', 'dragover', 'drop']) {
      target.dispatchEvent(new DragEvent(type, { bubbles: true, cancelable: true, dataTransfer: data }));
    }
  }, files);
}

/** Drags a folder onto the page as a file manager does, so that the browser itself provides its entries. */
export async function dragFolder(page, path) {
  const session = await page.context().newCDPSession(page);
  const data = { items: [], files: [path], dragOperationsMask: 1 };
  for (const type of ['dragEnter', 'dragOver', 'drop']) {
    await session.send('Input.dispatchDragEvent', { type, x: 400, y: 300, data });
  }
}

/** Serious and critical findings, each with where it is; `options` are those of axe-core. */
export async function findings(page, options = {}) {
  // The page's policy allows no foreign script, so it is put in by the debugger, which no policy binds.
  const session = await page.context().newCDPSession(page);
  await session.send('Runtime.evaluate', { expression: await readFile(AXE, 'utf8') });
  const { violations } = await page.evaluate((options) => axe.run(options), options);
  const serious = violations.filter(({ impact }) => ['serious', 'critical'].includes(impact));
  return serious.map(({ id, nodes }) => `${id}: ${nodes.map(({ target }) => target).join(' | ')}`);
}

/** Presses Tab until an element has the focus. */
export async function tabTo(page, name) {
  for (let presses = 0; presses < 80; presses += 1) {
    const focused = await page.evaluate(() => document.activeElement?.dataset.testid);
    if (focused === name) return;
    await page.keyboard.press('Tab');
  }
  assert.fail(`${name} cannot be reached by Tab`);
}
