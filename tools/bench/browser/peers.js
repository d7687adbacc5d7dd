// Matrix products of the model's shapes with other libraries for WebGPU, in the same browser.
const SECONDS = 1.0;

/** Shortest time of one run of `work`, which waits until its result is on the host side of the queue. */
async function shortest(work) {
  await work();
  let best = Infinity;
  const began = performance.now();
  do {
    const start = performance.now();
    await work();
    best = Math.min(best, performance.now() - start);
  } while (performance.now() - began < 1000 * SECONDS);
  return best;
}

/** Fails unless the first element of a product is what it must be: a library that computes nothing is fast. */
function check(found, [, inner, cols]) {
  const [a, b] = [values(inner), values(inner * cols)];
  const expected = a.reduce((sum, value, k) => sum + value * b[k * cols], 0);
  if (!(Math.abs(found - expected) <= 1e-4 * inner)) throw new Error(`the product is wrong: ${found}, not ${expected}`);
}

const values = (count) => Float32Array.from({ length: count }, (_, i) => ((i * 7919) % 2003) / 1001.5 - 1);

// ---- ONNX: a model of one MatMul, written as the protocol buffer that it is.

function varint(number) {
  const bytes = [];
  for (; number > 127; number = Math.floor(number / 128)) bytes.push((number % 128) | 128);
  return [...bytes, number];
}
const field = (number, bytes) => [...varint(number * 8 + 2), ...varint(bytes.length), ...bytes];
const integer = (number, value) => [...varint(number * 8), ...varint(value)];
const text = (number, string) => field(number, [...new TextEncoder().encode(string)]);

function matmulModel([rows, inner, cols]) {
  const dimension = (size) => field(1, integer(1, size));
  const tensor = (name, shape) => {
    const type = field(1, [...integer(1, 1), ...field(2, shape.flatMap(dimension))]);
    return [...text(1, name), ...field(2, type)];
  };
  const node = [...text(1, 'a'), ...text(1, 'b'), ...text(2, 'c'), ...text(4, 'MatMul')];
  const graph = [
    ...field(1, node), ...text(2, 'product'),
    ...field(11, tensor('a', [rows, inner])), ...field(11, tensor('b', [inner, cols])),
    ...field(12, tensor('c', [rows, cols])),
  ];
  return new Uint8Array([...integer(1, 8), ...field(7, graph), ...field(8, integer(2, 13))]);
}

async function onnx(shapes) {
  const ort = await import('./onnxruntime-web/ort.webgpu.min.mjs');
  ort.env.wasm.numThreads = 1;
  ort.env.wasm.wasmPaths = new URL('./onnxruntime-web/', location.href).href;
  const figures = [];
  for (const [rows, inner, cols] of shapes) {
    const options = { executionProviders: ['webgpu'], preferredOutputLocation: 'gpu-buffer' };
    const session = await ort.InferenceSession.create(matmulModel([rows, inner, cols]), options);
    const upload = async (data, dims) => {
      const device = await ort.env.webgpu.device;
      const usage = GPUBufferUsage.STORAGE | GPUBufferUsage.COPY_SRC | GPUBufferUsage.COPY_DST;
      const gpuBuffer = device.createBuffer({ size: data.byteLength, usage });
      device.queue.writeBuffer(gpuBuffer, 0, data);
      return ort.Tensor.fromGpuBuffer(gpuBuffer, { dataType: 'float32', dims });
    };
    const feeds = {
      a: await upload(values(rows * inner), [rows, inner]),
      b: await upload(values(inner * cols), [inner, cols]),
    };
    const { c: first } = await session.run(feeds);
    check((await first.getData())[0], [rows, inner, cols]);
    first.dispose();
    const device = await ort.env.webgpu.device;
    const ms = await shortest(async () => {
      const { c } = await session.run(feeds);
      await device.queue.onSubmittedWorkDone();
      c.dispose();
    });
    figures.push([`GFLOP/s of ${rows} x ${inner} to ${cols}`, (2 * rows * inner * cols) / ms / 1e6]);
    await session.release();
  }
  return { name: `onnxruntime-web ${ort.env.versions.web ?? ''}`.trim(), figures };
}

// ---- TensorFlow.js

function script(src) {
  return new Promise((resolve, reject) => {
    const element = Object.assign(document.createElement('script'), { src, onload: resolve });
    element.onerror = () => reject(new Error(`${src} cannot be loaded`));
    document.head.append(element);
  });
}

async function tensorflow(shapes) {
  await script('./tfjs/tf-core.min.js');
  await script('./tfjs/tf-backend-webgpu.min.js');
  const { tf } = globalThis;
  if (!await tf.setBackend('webgpu')) throw new Error('its WebGPU backend does not start');
  await tf.ready();
  const figures = [];
  for (const [rows, inner, cols] of shapes) {
    const [a, b] = [tf.tensor2d(values(rows * inner), [rows, inner]), tf.tensor2d(values(inner * cols), [inner, cols])];
    // One value read back waits for the product; its way here costs little beside it.
    const product = async () => {
      const c = tf.matMul(a, b);
      const corner = tf.slice(c, [0, 0], [1, 1]);
      const [value] = await corner.data();
      tf.dispose([c, corner]);
      return value;
    };
    check(await product(), [rows, inner, cols]);
    const ms = await shortest(product);
    figures.push([`GFLOP/s of ${rows} x ${inner} to ${cols}`, (2 * rows * inner * cols) / ms / 1e6]);
    tf.dispose([a, b]);
  }
  return { name: `TensorFlow.js ${tf.version_core}`, figures };
}

/** Both libraries on products `[rows, inner, cols]`; one that fails says why. */
globalThis.measurePeers = async (shapes) => {
  const peers = [];
  for (const [name, peer] of [['onnxruntime-web', onnx], ['TensorFlow.js', tensorflow]]) {
    const what = 'matrix products of the model, compare with the lines "product"';
    const common = { name, what, device: 'WebGPU of this Chromium', figures: [], failure: null };
    try {
      peers.push({ ...common, ...await peer(shapes) });
    } catch (error) {
      peers.push({ ...common, failure: String(error?.message ?? error) });
    }
  }
  return peers;
};
