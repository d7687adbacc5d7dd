// Scripts for the engine's worker that make its WebGPU behave like other browsers, drivers and machines. Each is text
// that runs before the engine's own script.

const text = (script, ...values) => `(${script})(${values.map((value) => JSON.stringify(value)).join(', ')})`;

/**
 * Counts device calls in `counted`: waits, submissions, and dispatches by kernel; `counted.at` holds the counts when a
 * message left the worker, by the kind of the event.
 */
export const counting = () => text(() => {
  const counted = { waits: 0, submissions: 0, dispatches: {}, at: [] };
  self.counted = counted;
  const wrap = (prototype, name, before) => {
    const own = prototype[name];
    prototype[name] = function (...given) {
      before.call(this, ...given);
      return own.apply(this, given);
    };
  };
  const waits = () => { counted.waits += 1; };
  wrap(GPUQueue.prototype, 'onSubmittedWorkDone', waits);
  wrap(GPUBuffer.prototype, 'mapAsync', waits);
  wrap(GPUQueue.prototype, 'submit', () => { counted.submissions += 1; });
  wrap(GPUComputePassEncoder.prototype, 'setPipeline', function (pipeline) { this.kernel = pipeline.label; });
  wrap(GPUComputePassEncoder.prototype, 'dispatchWorkgroups', function () {
    counted.dispatches[this.kernel] = (counted.dispatches[this.kernel] ?? 0) + 1;
  });
  const post = self.postMessage;
  self.postMessage = function (message, ...rest) {
    const event = typeof message === 'string' && JSON.parse(message).event?.event;
    if (event && !event.progress) {
      const { waits, submissions, dispatches } = counted;
      counted.at.push({ event: Object.keys(event)[0], waits, submissions, dispatches: { ...dispatches } });
    }
    return post.call(self, message, ...rest);
  };
});

/**
 * A clock as in Firefox (bug 1870699): callbacks of the device run only when a timer of `grid` milliseconds fires, and
 * `performance.now` is rounded to `grain`.
 */
export const hostileClock = (grid, grain) => text((grid, grain) => {
  const now = performance.now.bind(performance);
  performance.now = () => Math.floor(now() / grain) * grain;
  const late = (prototype, name) => {
    const own = prototype[name];
    prototype[name] = async function (...given) {
      try {
        return await own.apply(this, given);
      } finally {
        await new Promise((due) => { setTimeout(due, grid - now() % grid); });
      }
    };
  };
  late(GPUQueue.prototype, 'onSubmittedWorkDone');
  late(GPUBuffer.prototype, 'mapAsync');
}, grid, grain);

/**
 * A device that runs out of memory after `bytes` were allocated, or when `fillMemory` was called: Chromium returns an
 * invalid buffer and gives the reason in an event.
 */
export const littleMemory = (bytes) => text((bytes) => {
  const own = GPUDevice.prototype.createBuffer;
  let left = bytes ?? Infinity;
  self.fillMemory = () => { left = 0; };
  self.freeMemory = () => { left = Infinity; };
  GPUDevice.prototype.createBuffer = function (buffer) {
    left -= buffer.size;
    if (left >= 0) return own.call(this, buffer);
    this.pushErrorScope('validation');
    const none = own.call(this, { ...buffer, size: 2 ** 52 });
    this.popErrorScope();
    const error = new GPUOutOfMemoryError('Not enough memory left.');
    setTimeout(() => this.dispatchEvent(new GPUUncapturedErrorEvent('uncapturederror', { error })));
    return none;
  };
}, bytes);

/** Counts the bytes of all buffers that are not destroyed, now and at most, in `deviceBytes`. */
export const deviceMemory = () => text(() => {
  const counted = { now: 0, most: 0 };
  self.deviceBytes = counted;
  const held = new WeakSet();
  const { createBuffer } = GPUDevice.prototype;
  GPUDevice.prototype.createBuffer = function (buffer) {
    const made = createBuffer.call(this, buffer);
    held.add(made);
    counted.now += buffer.size;
    counted.most = Math.max(counted.most, counted.now);
    return made;
  };
  const { destroy } = GPUBuffer.prototype;
  GPUBuffer.prototype.destroy = function () {
    if (held.delete(this)) counted.now -= this.size;
    destroy.call(this);
  };
});

/** Says `first block` in the console when the first block of a measurement leaves the worker. */
export const firstBlock = () => text(() => {
  const own = self.postMessage;
  let wasSent = false;
  self.postMessage = function (message, ...rest) {
    if (!wasSent && typeof message === 'string' && JSON.parse(message).event?.event?.block) {
      wasSent = true;
      console.info('first block');
    }
    return own.call(self, message, ...rest);
  };
});

/** A browser that finds no adapter at the first request, as Chrome does while it starts its GPU process. */
export const lateAdapter = () => text(() => {
  const own = GPU.prototype.requestAdapter;
  self.requests = 0;
  GPU.prototype.requestAdapter = async function (...given) {
    self.requests += 1;
    return self.requests === 1 ? null : own.apply(this, given);
  };
});

/** WebGPU's default limits, which every adapter supports. */
export const DEFAULTS = {
  maxTextureDimension1D: 8192, maxTextureDimension2D: 8192, maxTextureDimension3D: 2048, maxTextureArrayLayers: 256,
  maxBindGroups: 4, maxBindGroupsPlusVertexBuffers: 24, maxBindingsPerBindGroup: 1000,
  maxDynamicUniformBuffersPerPipelineLayout: 8, maxDynamicStorageBuffersPerPipelineLayout: 4,
  maxSampledTexturesPerShaderStage: 16, maxSamplersPerShaderStage: 16, maxStorageBuffersPerShaderStage: 8,
  maxStorageTexturesPerShaderStage: 4, maxUniformBuffersPerShaderStage: 12, maxUniformBufferBindingSize: 65536,
  maxStorageBufferBindingSize: 134217728, minUniformBufferOffsetAlignment: 256, minStorageBufferOffsetAlignment: 256,
  maxVertexBuffers: 8, maxBufferSize: 268435456, maxVertexAttributes: 16, maxVertexBufferArrayStride: 2048,
  maxInterStageShaderVariables: 16, maxColorAttachments: 8, maxColorAttachmentBytesPerSample: 32,
  maxComputeWorkgroupStorageSize: 16384, maxComputeInvocationsPerWorkgroup: 256, maxComputeWorkgroupSizeX: 256,
  maxComputeWorkgroupSizeY: 256, maxComputeWorkgroupSizeZ: 64, maxComputeWorkgroupsPerDimension: 65535,
};

/** An adapter with these limits. A device gets the default ones unless it requests more, and enforces them. */
export const limited = (limits) => text((limits) => {
  for (const [name, value] of Object.entries(limits)) {
    Object.defineProperty(GPUSupportedLimits.prototype, name, { get: () => value });
  }
}, limits);

/**
 * A device that is lost when `lose` is called: the next buffer is not mapped, and the browser reports the loss a while
 * later if `isLate`, else before.
 */
export const losing = (isLate) => text((isLate) => {
  const { mapAsync } = GPUBuffer.prototype;
  const { get } = Object.getOwnPropertyDescriptor(GPUDevice.prototype, 'lost');
  let [isLosing, tell] = [false];
  Object.defineProperty(GPUDevice.prototype, 'lost', {
    get() {
      const lost = new Promise((resolve) => { tell = () => resolve({ reason: 'unknown', message: 'the GPU went away' }); });
      return Promise.race([lost, get.call(this)]);
    },
  });
  GPUBuffer.prototype.mapAsync = async function (...given) {
    if (!isLosing) return mapAsync.apply(this, given);
    isLosing = false;
    const pause = (ms) => new Promise((over) => { setTimeout(over, ms); });
    if (isLate) pause(5).then(tell);
    else await pause(5).then(tell).then(() => pause(5));
    throw new DOMException('Buffer was unmapped before mapping was resolved.', 'AbortError');
  };
  self.lose = () => { isLosing = true; };
}, isLate);

/**
 * A browser without randomness for seeds, which have 32 bytes: where a tokenizer is to draw whether it drops a merge, the
 * crate tokenizers panics. No check of a file can foresee it.
 */
export const noSeeds = () => text(() => {
  const own = crypto.getRandomValues.bind(crypto);
  crypto.getRandomValues = (list) => {
    if (list.length === 32) throw new DOMException('There is no randomness.', 'OperationError');
    return own(list);
  };
});

/** Measurements with a `budget` in bytes for rows in memory; `self.rowFile` counts the bytes of the file of the others. */
export const littleRowMemory = (budget) => text((budget) => {
  const counted = { budget, written: 0, read: 0 };
  self.rowFile = counted;
  const { get } = Object.getOwnPropertyDescriptor(MessageEvent.prototype, 'data');
  const limited = (data) => (typeof data === 'string' ? data.replace('"row_memory":null', `"row_memory":${counted.budget}`) : data);
  Object.defineProperty(MessageEvent.prototype, 'data', {
    get() {
      const data = get.call(this);
      return Array.isArray(data) ? data.map(limited) : limited(data);
    },
  });
  const { createSyncAccessHandle } = FileSystemFileHandle.prototype;
  FileSystemFileHandle.prototype.createSyncAccessHandle = async function (...given) {
    const access = await createSyncAccessHandle.apply(this, given);
    access.isOfRows = /^0\.\d+/.test(this.name);
    return access;
  };
  const { write, read } = FileSystemSyncAccessHandle.prototype;
  const count = (name, own) => function (data, at) {
    if (this.isOfRows) counted[name] += data.byteLength;
    return own.call(this, data, at);
  };
  FileSystemSyncAccessHandle.prototype.write = count('written', write);
  FileSystemSyncAccessHandle.prototype.read = count('read', read);
}, budget);

/** A browser in which a timeout comes `times` sooner than was asked for. */
export const impatient = (times) => text((times) => {
  const own = AbortSignal.timeout.bind(AbortSignal);
  AbortSignal.timeout = (milliseconds) => own(milliseconds / times);
}, times);

/**
 * A worker in which timers of one second to one minute come `self.times` sooner than was asked for, from when a test
 * sets it. Longer ones, such as that of a whole request, do not, so that a busy machine cannot let them end first.
 */
export const hasty = () => text(() => {
  const own = self.setTimeout.bind(self);
  self.times = 1;
  self.setTimeout = (then, milliseconds, ...given) => {
    const isShort = milliseconds >= 1000 && milliseconds <= 60_000;
    return own(then, isShort ? milliseconds / self.times : milliseconds, ...given);
  };
});

/** A browser whose first request for a file is never answered. */
export const unanswered = (file) => text((file) => {
  const own = self.fetch.bind(self);
  let isFirst = true;
  self.fetch = (address, how) => {
    if (!isFirst || !String(address).endsWith(file)) return own(address, how);
    isFirst = false;
    return new Promise((_, refuse) => { how.signal.addEventListener('abort', () => refuse(how.signal.reason)); });
  };
}, file);

/**
 * Callbacks of the device on a timer, as in Firefox (bug 1870699), and a clock in steps of `grain` milliseconds.
 * Callbacks run when the timer of `grid` milliseconds fires, and where `isHeard` also at the next submission after the
 * work has ended. `self.late` counts: `idle`, the milliseconds by which callbacks were held back while the device had
 * nothing to do, up to the tick and not by a clock that other programs delay; `opening`, those until a measurement has
 * its device; and callbacks by what released them.
 */
export const lateAnswers = (grid, grain, isHeard = false) => text((grid, grain, isHeard) => {
  const now = performance.now.bind(performance);
  performance.now = () => Math.floor(now() / grain) * grain;
  const late = { idle: 0, opening: 0, byTimer: 0, bySubmission: 0 };
  self.late = late;
  const post = self.postMessage;
  self.postMessage = function (message, ...rest) {
    if (typeof message === 'string' && JSON.parse(message).event?.event?.started) late.opening = late.idle;
    return post.call(self, message, ...rest);
  };
  const { onSubmittedWorkDone } = GPUQueue.prototype;
  // Submissions that the device has not finished, and callbacks that are held back: what releases each.
  let [busy, since] = [0, 0];
  const held = new Set();
  // While callbacks are held back and the device is idle, time is lost, but none after the tick that releases them.
  const count = (change) => {
    const tick = (Math.floor(since / grid) + 1) * grid;
    if (busy === 0 && held.size > 0) late.idle += Math.max(0, Math.min(now(), tick) - since);
    since = now();
    change();
  };
  const hold = () => new Promise((released) => {
    const release = (by) => {
      if (!held.has(release)) return;
      late[by] += 1;
      count(() => held.delete(release));
      released();
    };
    count(() => held.add(release));
    setTimeout(() => release('byTimer'), grid - now() % grid);
  });
  const { submit } = GPUQueue.prototype;
  GPUQueue.prototype.submit = function (...given) {
    if (isHeard) [...held].forEach((release) => release('bySubmission'));
    count(() => { busy += 1; });
    submit.apply(this, given);
    const done = () => count(() => { busy -= 1; });
    onSubmittedWorkDone.call(this).then(done, done);
  };
  const slow = (prototype, name) => {
    const own = prototype[name];
    prototype[name] = async function (...given) {
      try {
        return await own.apply(this, given);
      } finally {
        await hold();
      }
    };
  };
  slow(GPUQueue.prototype, 'onSubmittedWorkDone');
  slow(GPUBuffer.prototype, 'mapAsync');
}, grid, grain, isHeard);

/** Counts bytes that the engine writes to buffers in `self.uploads`: in all, and most between two submissions. */
export const uploads = () => text(() => {
  const counted = { bytes: 0, most: 0, pending: 0 };
  self.uploads = counted;
  const { writeBuffer, submit } = GPUQueue.prototype;
  GPUQueue.prototype.writeBuffer = function (buffer, at, data, from = 0, size = undefined) {
    // Offset and size count elements of a typed array, and bytes otherwise.
    const unit = data.BYTES_PER_ELEMENT ?? 1;
    counted.pending += size === undefined ? data.byteLength - from * unit : size * unit;
    counted.most = Math.max(counted.most, counted.pending);
    return writeBuffer.apply(this, size === undefined ? [buffer, at, data, from] : [buffer, at, data, from, size]);
  };
  GPUQueue.prototype.submit = function (...given) {
    counted.bytes += counted.pending;
    counted.pending = 0;
    return submit.apply(this, given);
  };
});

/** Measurements whose trainings have so many steps. */
export const fewSteps = (steps) => text((steps) => {
  const { get } = Object.getOwnPropertyDescriptor(MessageEvent.prototype, 'data');
  const shorter = (data) => (typeof data === 'string' ? data.replace(/"(probe|baseline|heal)_steps":\d+/g, `"$1_steps":${steps}`) : data);
  Object.defineProperty(MessageEvent.prototype, 'data', {
    get() {
      const data = get.call(this);
      return Array.isArray(data) ? data.map(shorter) : shorter(data);
    },
  });
}, steps);
