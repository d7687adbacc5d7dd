// Starts the page; says so in words where the browser cannot. Once it runs, a service worker keeps it for visits
// without a network; where there can be none, it works as well.
import init from './page.js';

const keepForLater = () => navigator.serviceWorker?.register(new URL('./sw.js', import.meta.url)).catch(() => {});

init({ module_or_path: new URL('./page_bg.wasm', import.meta.url) }).then(keepForLater).catch((error) => {
  const words = document.createElement('p');
  words.className = 'boot';
  words.textContent = `The page could not be started: ${error.message}; reload it, or use a current browser.`;
  document.getElementById('app').replaceChildren(words);
});
