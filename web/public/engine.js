// Starts the engine in its worker. What Rust cannot tell any more (a trap, no memory, no WebAssembly) is told here.
import init from './worker.js';

const crashed = (why) => postMessage(JSON.stringify({ crashed: { why: String(why?.message ?? why) } }));
addEventListener('unhandledrejection', (event) => crashed(event.reason));

init({ module_or_path: new URL('./worker_bg.wasm', import.meta.url) }).catch(crashed);
