// The site by way of a server of its own, which can go away: a network that is gone for the page, for its worker and for
// the service worker, of which the last is beyond what a browser can be told to keep offline.
import { createServer, request } from 'node:http';

/** Hands every request on to the site; `asked` counts them, and `end` is the end of the network. */
export async function relay() {
  const site = new URL(process.env.STRAIGHTEDGE_URL);
  const server = createServer((asked, answer) => {
    counted.asked += 1;
    const { url: path, method, headers } = asked;
    const onwards = request({ host: site.hostname, port: site.port, path, method, headers }, (reply) => {
      answer.writeHead(reply.statusCode, reply.headers);
      reply.pipe(answer);
    });
    onwards.on('error', () => answer.destroy());
    onwards.end();
  });
  await new Promise((listening) => { server.listen(0, '127.0.0.1', listening); });
  const counted = {
    asked: 0,
    address: `http://127.0.0.1:${server.address().port}${site.pathname}`,
    end: () => new Promise((ended) => {
      server.close(ended);
      server.closeAllConnections();
    }),
  };
  return counted;
}
