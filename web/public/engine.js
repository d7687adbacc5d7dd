// Starts the engine in its worker. Reports what Rust cannot report itself: a trap, no memory, no WebAssembly, another
// module than that of this build, which fills in the hashes.
import init from './worker.js';

const crashed = (why) => postMessage(JSON.stringify({ crashed: ['Engine', [String(why?.message ?? why)]] }));
addEventListener('unhandledrejection', (event) => crashed(event.reason));

/** The Parquet reader's hash, for the engine, which fetches it when a text needs it. */
self.tableIntegrity = '{sha256 table.wasm}';

const module = fetch(new URL('./worker_bg.wasm', import.meta.url), { integrity: '{sha256 worker_bg.wasm}', signal: AbortSignal.timeout(600000) })
  .catch((why) => { throw new Error(`worker_bg.wasm did not arrive as it was built (${why.message})`); });
init({ module_or_path: module }).catch(crashed);
