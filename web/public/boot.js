// Starts the page, or shows an error if the browser cannot. A service worker then caches it for offline visits; the
// page also works without one.
import init from './page.js';

const keepForLater = () => navigator.serviceWorker?.register(new URL('./sw.js', import.meta.url)).catch(() => {});

init({ module_or_path: new URL('./page_bg.wasm', import.meta.url) }).then(keepForLater).catch((error) => {
  const words = document.createElement('p');
  words.className = 'boot';
  words.textContent = `The page could not be started: ${error.message}; reload it, or use a current browser.`;
  document.getElementById('app').replaceChildren(words);
});
