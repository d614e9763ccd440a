// Where marks lie: pure functions, tested on their own.

export function extent(values) {
  let low = Infinity, high = -Infinity;
  for (const value of values) { if (value < low) low = value; if (value > high) high = value; }
  if (!(high > low)) {
    const middle = Number.isFinite(low) ? low : 0;
    low = middle - 0.5; high = middle + 0.5;
  }
  const pad = 0.04 * (high - low);
  return [low - pad, high + pad];
}

// Round numbers between two ends, and the digits that tell them apart.
export function ticks(low, high, count = 5) {
  const raw = (high - low) / count, power = 10 ** Math.floor(Math.log10(raw));
  const stride = [1, 2, 5, 10].map((one) => one * power).find((one) => one >= raw * (1 - 1e-9));
  const found = [];
  for (let k = Math.ceil(low / stride - 1e-9); k * stride <= high + stride * 1e-9; k += 1) found.push(k * stride);
  return { at: found, digits: Math.max(0, -Math.floor(Math.log10(stride) + 1e-9)) };
}

// A round number not below a value: where an axis ends.
export function roundUp(value) {
  if (!(value > 0)) return 1;
  const power = 10 ** Math.floor(Math.log10(value));
  return [1, 1.5, 2, 2.5, 3, 4, 5, 7.5, 10].map((one) => one * power).find((one) => one >= value * (1 - 1e-9));
}

// The same order for the same n, and no group always on top.
export function shuffled(n, seed = 20_251_121) {
  const order = Uint32Array.from({ length: n }, (_, k) => k);
  let state = seed >>> 0;
  for (let k = n - 1; k > 0; k -= 1) {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    const other = Math.floor((state / 2 ** 32) * (k + 1));
    [order[k], order[other]] = [order[other], order[k]];
  }
  return order;
}

// Marks of one size beside each other; null where they do not fit into ±half.
function packed(xs, side, half) {
  const gap = side + 2, order = [...xs.keys()].sort((a, b) => xs[a] - xs[b] || a - b);
  const ys = new Float64Array(xs.length), placed = [];
  const most = half - side / 2;
  for (const k of order) {
    while (placed.length && xs[k] - placed[0].x >= gap) placed.shift();
    const options = [0];
    for (const { y } of placed) options.push(y - gap, y + gap);
    options.sort((a, b) => Math.abs(a) - Math.abs(b) || a - b);
    const free = options.find((y) => placed.every((other) => Math.abs(other.y - y) >= gap - 1e-9));
    if (free === undefined || Math.abs(free) > most) return null;
    ys[k] = free;
    placed.push({ x: xs[k], y: free });
  }
  return ys;
}

const radical = (k) => { let value = 0, part = 0.5; for (let n = k + 1; n > 0; n >>= 1, part /= 2) value += part * (n & 1); return value; };

// Offsets from the middle of a row, never beyond ±half. Few marks stand beside each other, at the
// largest size that fits; many become dots that fill the outline of their density.
export function swarm(xs, half, sides = [22, 16, 12, 8]) {
  if (!xs.length) return { ys: new Float64Array(0), side: sides[0], dots: false };
  if (xs.length <= 400) {
    for (const side of sides) {
      const ys = packed(xs, side, half);
      if (ys) return { ys, side, dots: false };
    }
  }
  const side = xs.length > 2000 ? 3 : 5;
  const density = densities(xs);
  const most = Math.max(...density), room = half - side / 2;
  const order = [...xs.keys()].sort((a, b) => xs[a] - xs[b] || a - b);
  const ys = new Float64Array(xs.length);
  order.forEach((k, rank) => { ys[k] = (2 * radical(rank) - 1) * room * (density[k] / most); });
  return { ys, side, dots: true };
}

// Density at each value, from a smoothed histogram; positive.
function densities(xs, bins = 64) {
  let low = Infinity, high = -Infinity;
  for (const x of xs) { if (x < low) low = x; if (x > high) high = x; }
  const width = (high - low) / bins || 1;
  const counts = new Float64Array(bins + 1);
  for (const x of xs) counts[Math.floor((x - low) / width)] += 1;
  const smooth = counts.map((_, k) => {
    let sum = 0, weights = 0;
    for (let d = -3; d <= 3; d += 1) {
      if (k + d < 0 || k + d > bins) continue;
      const weight = Math.exp(-(d * d) / 4);
      sum += weight * counts[k + d]; weights += weight;
    }
    return sum / weights;
  });
  return Array.from(xs, (x) => smooth[Math.floor((x - low) / width)]);
}

export function inside(x, y, polygon) {
  let within = false;
  for (let k = 0, last = polygon.length - 1; k < polygon.length; last = k, k += 1) {
    const [ax, ay] = polygon[k], [bx, by] = polygon[last];
    if (ay > y !== by > y && x < ((bx - ax) * (y - ay)) / (by - ay) + ax) within = !within;
  }
  return within;
}

// Points in cells, so that the nearest one is found without looking at all.
export class Cells {
  constructor(xs, ys, across = 64) {
    this.xs = xs; this.ys = ys; this.across = across;
    this.cells = new Map();
    for (let k = 0; k < xs.length; k += 1) {
      const key = this.key(xs[k], ys[k]);
      const cell = this.cells.get(key);
      if (cell) cell.push(k); else this.cells.set(key, [k]);
    }
  }

  key(x, y) { return Math.floor(((x + 1) / 2) * this.across) * 4096 + Math.floor(((y + 1) / 2) * this.across); }

  nearest(x, y, reach) {
    let best = -1, least = reach * reach;
    const step = 2 / this.across, around = Math.ceil(reach / step);
    for (let dx = -around; dx <= around; dx += 1) {
      for (let dy = -around; dy <= around; dy += 1) {
        for (const k of this.cells.get(this.key(x + dx * step, y + dy * step)) ?? []) {
          const far = (this.xs[k] - x) ** 2 + (this.ys[k] - y) ** 2;
          if (far < least) { least = far; best = k; }
        }
      }
    }
    return best;
  }
}
