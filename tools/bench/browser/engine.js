// The engine's benchmarks in a worker, as the page runs the engine itself.
import init from './engine/bench.js';

const crashed = (why) => postMessage(JSON.stringify({ failure: String(why?.message ?? why) }));
addEventListener('unhandledrejection', (event) => crashed(event.reason));

init({ module_or_path: new URL('./engine/bench_bg.wasm', import.meta.url) }).catch(crashed);
