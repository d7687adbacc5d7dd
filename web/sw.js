// Caches the site for offline visits: the files of one build, each under its hash, and nothing else. Model downloads
// are not files of the site and never pass through here.
//
// The build inserts before this: FILES, the SHA-256 of every file by path, and LATER, the files cached only when first
// used. A development build lists none, which clears an earlier cache.

const scope = self.registration.scope;
const CACHE = `straightedge ${scope}`;

self.addEventListener('install', (event) => event.waitUntil(keepAll()));
self.addEventListener('activate', (event) => event.waitUntil(takeCharge()));
self.addEventListener('message', (event) => {
  if (event.data === 'take over') self.skipWaiting();
  if (Array.isArray(event.data?.keep)) event.waitUntil(keepChosen(event.data.keep));
});
self.addEventListener('fetch', (event) => {
  const { request } = event;
  const path = pathOf(request.url);
  if (request.method !== 'GET' || path === null || !Object.hasOwn(FILES, path)) return;
  event.respondWith(request.mode === 'navigate' ? page(request) : kept(path));
});

/** Path of a file of the site, '' for the page itself; null for everything else. */
function pathOf(url) {
  if (!url.startsWith(scope)) return null;
  const path = url.slice(scope.length).split(/[?#]/)[0];
  return path === 'index.html' ? '' : path;
}

/** Cache key of a file: other content has another key, so that two builds never mix. */
function keyOf(path) {
  return `${scope}${path}?sha256=${encodeURIComponent(FILES[path])}`;
}

/** Fetches the files of a build that are not cached yet; fails if a single one fails. */
async function keepAll() {
  await Promise.all(Object.keys(FILES).filter((path) => !LATER.includes(path)).map(kept));
}

/** Caches files that a page has chosen, even if their requests preceded this worker. */
async function keepChosen(paths) {
  for (const path of paths) {
    // A file that cannot be fetched now is cached when it is used.
    if (Object.hasOwn(FILES, path)) await kept(path).catch(() => {});
  }
}

/** Takes control of the page of the first visit too, so that the files it uses are cached. */
async function takeCharge() {
  await forgetOthers();
  await self.clients.claim();
}

async function forgetOthers() {
  const cache = await caches.open(CACHE);
  const ours = new Set(Object.keys(FILES).map(keyOf));
  const others = (await cache.keys()).filter((request) => !ours.has(request.url));
  await Promise.all(others.map((request) => cache.delete(request)));
}

/** A file of this build: the browser rejects other content. */
async function kept(path) {
  const cache = await caches.open(CACHE);
  const known = await cache.match(keyOf(path));
  if (known) return known;
  const response = await fetch(scope + path, { integrity: `sha256-${FILES[path]}`, cache: 'no-cache' });
  if (!response.ok) throw new Error(`${path}: ${response.status}`);
  // If the cache is full, the page still works while there is a network.
  await cache.put(keyOf(path), response.clone()).catch(() => {});
  return response;
}

/**
 * What is shown while a newer build takes over: with an icon, so that the browser does not request one from the host. It
 * opens the page again only once the new worker is active, because a browser may lose what it asks of one that goes.
 */
const TAKING_OVER = `<link rel="icon" href="data:,"><script>
async function again() {
  const { active, waiting } = await navigator.serviceWorker.getRegistration();
  if (waiting || active.state !== 'activated') setTimeout(again, 50);
  else location.reload();
}
again();
</script>`;

/** The page. A newer build takes over if no other tab still runs this one. */
async function page(request) {
  if (self.registration.waiting && (await self.clients.matchAll()).length < 2) {
    self.registration.waiting.postMessage('take over');
    return new Response(TAKING_OVER, { headers: { 'Content-Type': 'text/html', Refresh: '10' } });
  }
  return kept('').catch(() => fetch(request));
}
