// A real Chromium on the built page, and a watch over everything that must not happen there.
import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';

import { chromium } from 'playwright-core';

/** Longest wait for a measurement: a software adapter on a busy machine with two cores is slow. */
export const PATIENCE = 10 * 60_000;

/** Models and texts for tests, beside the repository. */
export const FIXTURES = fileURLToPath(new URL('../../../shared/fixtures', import.meta.url));

const QUIET = ['--no-first-run', '--disable-background-networking', '--disable-component-update', '--disable-sync', '--disable-quic'];

function setting(name) {
  const value = process.env[name];
  assert.ok(value, `${name} is not set; run the tests with: cargo xtask test browser`);
  return value;
}

/**
 * A test of the page in a browser of its own, with a WebGPU adapter or without. Whatever goes wrong unseen fails it,
 * and is told beside any other failure.
 */
export function visit(name, { webgpu }, body) {
  test(name, { timeout: 2 * PATIENCE }, async (t) => {
    const app = await open({ webgpu });
    try {
      await app.started();
      await body(app, t);
      assert.deepEqual(app.faults, []);
    } catch (error) {
      if (app.faults.length > 0) error.message += `\nbeside it: ${app.faults.join('\n')}`;
      throw error;
    } finally {
      await app.browser.close();
    }
  });
}

/** Opens the page. */
export async function open({ webgpu }) {
  const browser = await chromium.launch({
    executablePath: setting('CHROMIUM'),
    args: ['--no-sandbox', ...QUIET, ...(webgpu ? ['--enable-unsafe-webgpu'] : [])],
  });
  try {
    const page = await browser.newPage({ viewport: { width: 1280, height: 1000 } });
    const site = setting('STRAIGHTEDGE_URL');
    const faults = watch(page, new URL(site).origin);
    await page.goto(site, { timeout: PATIENCE });
    return new App(browser, page, faults);
  } catch (error) {
    // A browser left open would keep the tests from ending.
    await browser.close();
    throw error;
  }
}

/** Collects errors of any kind, violations of the security policy, and requests to other hosts. */
function watch(page, origin) {
  const faults = [];
  page.on('console', (message) => {
    if (message.type() === 'error') faults.push(`console: ${message.text()} (${message.location().url})`);
  });
  page.on('pageerror', (error) => faults.push(`uncaught: ${error}`));
  page.on('crash', () => faults.push('the page crashed'));
  page.on('requestfailed', (request) => faults.push(`failed: ${request.url()} (${request.failure()?.errorText})`));
  page.context().on('request', (request) => {
    const url = new URL(request.url());
    if (url.protocol !== 'blob:' && url.origin !== origin) faults.push(`foreign request: ${request.url()}`);
  });
  return faults;
}

/** The page as its visitor sees it. */
export class App {
  constructor(browser, page, faults) {
    Object.assign(this, { browser, page, faults });
  }

  element(name) {
    return this.page.getByTestId(name);
  }

  /** Waits until the engine has looked what it can run on. */
  started() {
    return this.element('device').and(this.page.locator(':not([data-state=probing])')).waitFor({ timeout: 60_000 });
  }

  /** What measurements run on: `gpu`, `software` or `cpu`. */
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

  run() {
    return this.element('run').click();
  }

  /** Waits for one of the phases in which a measurement can end, and returns it. */
  async ended() {
    const status = this.element('status');
    await status.and(this.page.locator(':is([data-phase=finished], [data-phase=cancelled], [data-phase=failed])'))
      .waitFor({ timeout: PATIENCE });
    return status.getAttribute('data-phase');
  }

  /** Measures to the end and returns the report that the page downloads. */
  async measure() {
    await this.run();
    const phase = await this.ended();
    const error = phase === 'failed' ? await this.error() : '';
    assert.equal(phase, 'finished', error);
    return this.report();
  }

  async report() {
    const [download] = await Promise.all([this.page.waitForEvent('download'), this.element('download').click()]);
    assert.match(download.suggestedFilename(), /\.json$/);
    return JSON.parse(await readFile(await download.path(), 'utf8'));
  }

  error() {
    return this.element('error').innerText();
  }
}

/** Fails unless two numbers, or nulls, agree; NaN agrees with nothing. */
export function assertClose(what, found, expected, tolerance) {
  if (expected === null) return assert.equal(found, null, what);
  assert.equal(typeof found, 'number', `${what}: ${found} is no number`);
  assert.ok(Math.abs(found - expected) <= tolerance, `${what}: ${found} where ${expected} was expected`);
}
