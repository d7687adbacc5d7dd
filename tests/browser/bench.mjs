// Measures a model with random weights in the page, as a visitor does, and prints a line of a table for every number of
// cores that the browser is to report: seconds by stage, memory, and what had arrived when the first block was there.
// Reports and traces are written to the folder.
//
// usage: bench.mjs SETTINGS FOLDER, the settings as JSON: see xtask/src/bench_page.rs
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';

import { open, startMirror } from './driver.mjs';
import { deviceMemory, firstBlock, littleRowMemory } from './shims.mjs';

const settings = JSON.parse(process.argv[2]);
const folder = process.argv[3];

const MODEL = 'bench/model';

/** Writes the model as it lies on the hub, below `hub`. */
function writeModel(hub) {
  const { shape, llama, blocks } = settings;
  const options = Object.entries({ shape, llama, blocks }).filter(([, value]) => value).flatMap(([name, value]) => [`--${name}`, String(value)]);
  return promisify(execFile)(process.env.XTASK, ['made-model', join(hub, MODEL), ...options]);
}

/** One measurement in a browser with `cores` cores: its report, its trace, and what was seen on the way. */
async function measured(hub, cores) {
  const { backend, rate, rows, folds, row_memory: rowMemory } = settings;
  const mirror = rate ? await startMirror(hub, rate) : null;
  const webgpu = backend === 'gpu';
  const shim = [firstBlock(), ...(webgpu ? [deviceMemory()] : []), ...(rowMemory ? [littleRowMemory(rowMemory)] : [])].join(';\n');
  const before = (page) => page.addInitScript((cores) => {
    Object.defineProperty(navigator, 'hardwareConcurrency', { get: () => cores });
  }, cores);
  const app = await open({ webgpu, mirror, shim, before });
  try {
    await app.started();
    if (mirror) {
      assert.equal(await app.hub(MODEL), 'known');
    } else {
      await app.choose({ 'model-select': ':own' });
      await app.element('model-folder').setInputFiles(join(hub, MODEL));
    }
    await app.choose({ 'text-select': 'tales:1', backend, rows, folds });
    const start = performance.now();
    const first = {};
    app.page.on('console', async (message) => {
      if (message.text() !== 'first block') return;
      first.seconds = (performance.now() - start) / 1000;
      first.bytes = mirror && await sent(mirror);
    });
    const progress = setInterval(() => tell(app), 60_000);
    const report = await app.measure(0).finally(() => clearInterval(progress));
    const trace = (await app.saved('trace')).bytes.toString();
    const device = webgpu ? await app.engine().evaluate(() => self.deviceBytes.most) : null;
    const bytes = mirror && await sent(mirror);
    assert.deepEqual(app.faults, []);
    return { cores, report, trace, first, device, bytes };
  } finally {
    await app.browser.close();
    mirror?.stop();
  }
}

/** Prints what the page says of its progress; an empty line where the page has just closed. */
async function tell(app) {
  const said = Promise.all(['status', 'progress'].map((name) => app.element(name).allInnerTexts()));
  console.error((await said.catch(() => [])).flat().join(': '));
}

/** Bytes that the mirror has sent of the model's files. */
async function sent(mirror) {
  return Object.values(await mirror.stats()).reduce((sum, { bytes }) => sum + bytes, 0);
}

const megabytes = (bytes) => (bytes ? (bytes / 1e6).toFixed(0) : '–');

/** How many workers took part: the engine, and every helper worker that memory allowed; each is a process of the trace. */
function workers(trace) {
  return new Set(JSON.parse(trace).traceEvents.filter(({ ph }) => ph === 'X').map(({ pid }) => pid)).size;
}

/** One line of the table. */
function line({ cores, report, trace, first, device, bytes }) {
  const { total, load, forward, solve } = report.seconds;
  const share = bytes && first.bytes ? `${(100 * first.bytes / bytes).toFixed(0)} % of ${megabytes(bytes)} MB` : '–';
  const cells = [
    cores, workers(trace), total.toFixed(1), load.toFixed(1), forward.toFixed(1), solve.toFixed(1), (first.seconds ?? NaN).toFixed(1), share,
    megabytes(report.peak_memory), megabytes(device), report.blocks[0].r2_lin,
  ];
  return `| ${cells.join(' | ')} |`;
}

const hub = await mkdtemp(join(tmpdir(), 'straightedge-bench-'));
try {
  await writeModel(hub);
  console.log('| cores | workers | s | loading | rows | solving | first block after | bytes then | WebAssembly MB | device MB | R² of the first block |');
  console.log('|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|');
  for (const cores of settings.cores) {
    const found = await measured(hub, cores);
    await writeFile(join(folder, `page-${cores}.json`), JSON.stringify(found.report));
    await writeFile(join(folder, `page-${cores}.trace.json`), found.trace);
    console.log(line(found));
  }
} finally {
  await rm(hub, { recursive: true });
}
