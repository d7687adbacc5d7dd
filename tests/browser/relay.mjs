// The site through a proxy server that can change and fail, to take the network from the page, its worker and the
// service worker; for the last, browsers cannot emulate being offline.
import { createServer } from 'node:http';
import { gzipSync } from 'node:zlib';

/** Headers that static hosts add to every file, unlike the local server: compressed and cacheable. */
const HOSTED = { 'content-encoding': 'gzip', 'cache-control': 'max-age=600' };

/**
 * Forwards every request to the site, under the same path. By path, `changes` modifies texts or bytes, `waits` delays their
 * responses, and `halves` sends what follows a text later.
 */
export async function relay({ asHost = false } = {}) {
  const site = new URL(process.env.STRAIGHTEDGE_URL);
  const network = { asked: [], changes: {}, waits: {}, halves: {} };
  const compressed = new Map();
  const server = createServer(async (request, answer) => {
    const url = new URL(request.url, site);
    const path = url.pathname.slice(site.pathname.length);
    network.asked.push(path);
    await network.waits[path];
    const reply = await fetch(url);
    const body = Buffer.from(await reply.arrayBuffer());
    const content = network.changes[path]?.(body.toString(), body) ?? body;
    answer.writeHead(reply.status, { 'content-type': reply.headers.get('content-type'), ...(asHost && HOSTED) });
    if (asHost && !compressed.has(path)) compressed.set(path, gzipSync(content));
    const half = network.halves[path];
    if (half) {
      answer.write(content.slice(0, content.indexOf(half.before)));
      await half.until;
      return answer.end(content.slice(content.indexOf(half.before)));
    }
    answer.end(asHost ? compressed.get(path) : content);
  });
  await new Promise((listening) => { server.listen(0, '127.0.0.1', listening); });
  return Object.assign(network, {
    address: `http://127.0.0.1:${server.address().port}${site.pathname}`,
    end: () => new Promise((ended) => {
      server.close(ended);
      server.closeAllConnections();
    }),
  });
}
