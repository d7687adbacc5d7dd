// Metadata of a shared page: a preview with its picture, icons, robots.txt, the notices of everything linked in, and
// the build.
import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';

import { visit } from './driver.mjs';
import { seen } from './files.mjs';

const SITE = process.env.STRAIGHTEDGE_URL;
const FIRST = { webgpu: false, query: {} };

/** Some services show no larger preview picture. */
const LARGEST_PICTURE = 600_000;

/** The `content` of a meta element by its name or property, and the `href` of a link by its `rel`. */
const meta = (app, name) => app.page.locator(`meta[name="${name}"], meta[property="${name}"]`).getAttribute('content');
const linked = (app, rel) => app.page.locator(`link[rel="${rel}"]`).getAttribute('href');

/** A file of the site. */
async function served(path) {
  const response = await fetch(new URL(path, SITE));
  assert.equal(response.status, 200, path);
  return { type: response.headers.get('content-type'), bytes: Buffer.from(await response.arrayBuffer()) };
}

/** Width and height from a PNG's header. */
function sizeOf(png) {
  assert.equal(png.subarray(0, 8).toString('latin1'), '\x89PNG\r\n\x1a\n', 'a PNG');
  return [png.readUInt32BE(16), png.readUInt32BE(20)];
}

visit('a link to the page has a preview, whose picture the site serves', FIRST, async (app) => {
  const [title, description] = await Promise.all(['og:title', 'og:description'].map((name) => meta(app, name)));
  assert.match(title, /Straightedge/);
  assert.ok(description.length > 50 && description.length <= 200, description);
  assert.ok((await meta(app, 'description')).length > 50);
  assert.match(await app.page.title(), /: \d of \d blocks more than half linear – Straightedge$/);
  assert.equal(await meta(app, 'og:type'), 'website');
  assert.equal(await meta(app, 'twitter:card'), 'summary_large_image');
  assert.match(await meta(app, 'og:image:alt'), /\w+ \w+/);

  // A build that knows its URL states it; any other can be hosted anywhere.
  const place = process.env.STRAIGHTEDGE_SITE;
  const picture = await meta(app, 'og:image');
  const base = place ? new URL(place.endsWith('/') ? place : `${place}/`).href : SITE;
  const address = new URL(picture, base).href;
  assert.ok(address.startsWith(base), `${address} lies below ${base}`);
  if (place) {
    assert.deepEqual([await linked(app, 'canonical'), await meta(app, 'og:url'), picture], [base, base, address]);
  } else {
    assert.equal(await app.page.locator('link[rel=canonical], meta[property="og:url"]').count(), 0);
  }

  const { type, bytes } = await served(address.slice(base.length));
  assert.equal(type, 'image/png');
  const stated = await Promise.all(['width', 'height'].map(async (side) => Number(await meta(app, `og:image:${side}`))));
  assert.deepEqual(sizeOf(bytes), stated);
  assert.ok(bytes.length <= LARGEST_PICTURE, `${bytes.length} bytes`);
  const pixels = await seen(app, bytes);
  assert.equal(pixels.width, stated[0]);
  assert.ok(pixels.vivid > 1000, `${pixels.vivid} coloured pixels`);
});

visit('every icon is there in the size it is said to have', FIRST, async (app) => {
  const { icons } = await (await fetch(new URL(await linked(app, 'manifest'), SITE))).json();
  const wanted = icons.map(({ src, sizes, type }) => ({ src, sizes, type }));
  wanted.push({ src: await linked(app, 'icon'), sizes: 'any', type: 'image/svg+xml' });
  // Apple's devices use an icon of this size.
  wanted.push({ src: await linked(app, 'apple-touch-icon'), sizes: '180x180', type: 'image/png' });
  for (const side of ['192x192', '512x512']) assert.ok(wanted.some(({ sizes }) => sizes === side), `${side} to install the page`);
  for (const { src, sizes, type } of wanted) {
    const icon = await served(src);
    assert.equal(icon.type, type, src);
    if (sizes === 'any') {
      assert.match(icon.bytes.toString(), /<svg[^>]+viewBox/, src);
      continue;
    }
    assert.equal(sizeOf(icon.bytes).join('x'), sizes, src);
    assert.ok((await seen(app, icon.bytes)).coloured > 100, `${src} shows the straight line`);
  }
});

visit('robots may read it all', FIRST, async () => {
  const { type, bytes } = await served('robots.txt');
  assert.match(type, /^text\/plain/);
  assert.match(bytes.toString(), /^User-agent: \*$/m);
  assert.doesNotMatch(bytes.toString(), /^Disallow: *\S/m);
});

visit('the foot leads to the licences of everything that is linked in', FIRST, async (app) => {
  const link = app.page.locator('footer a', { hasText: 'icences' });
  const { type, bytes } = await served(await link.getAttribute('href'));
  assert.match(type, /^text\/plain/);
  const text = bytes.toString();
  for (const licence of ['Apache License', 'Permission is hereby granted, free of charge', 'Redistribution and use in source and binary forms']) {
    assert.ok(text.includes(licence), licence);
  }
  const noticed = new Set(text.match(/^- .+$/gm));
  // Source paths in a module's panic locations show what it was compiled from.
  for (const module of ['page_bg.wasm', 'worker_bg.wasm']) {
    const content = (await served(module)).bytes.toString('latin1');
    const places = content.matchAll(/registry\/src\/[^/]+\/([\w-]+)-(\d+\.\d+\.\d[\w.+-]*)\/src\//g);
    const packages = new Set([...places].map(([, name, version]) => `- ${name} ${version}`));
    assert.ok(packages.size >= 5, `${module}: ${packages.size} packages`);
    assert.deepEqual([...packages].filter((line) => !noticed.has(line)), [], module);
  }
});

visit('page and reports name the same build, and an embedded chart goes without', { webgpu: false }, async (app) => {
  const foot = await app.page.locator('footer').innerText();
  const [, version, commit] = foot.match(/^Straightedge (\d+\.\d+\.\d+)(?:, commit ([0-9a-f]{7,40}(?:-dirty)?))? · /) ?? assert.fail(foot);
  const manifest = await readFile(new URL('../../Cargo.toml', import.meta.url), 'utf8');
  assert.equal(version, manifest.match(/^version = "(.+)"$/m)[1]);
  await app.choose({ rows: 1280 });
  const report = await app.measure();
  assert.deepEqual([report.app.version, report.app.commit ?? undefined], [version, commit]);

  const embedded = new URL(SITE);
  embedded.searchParams.set('embed', '1');
  await app.page.goto(embedded.href);
  await app.element('embedded').waitFor();
  assert.equal(await app.page.locator('footer').isVisible(), false);
});
