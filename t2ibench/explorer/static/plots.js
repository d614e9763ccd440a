// Strip plots, the intersectional scatter and the inverse scatter. Images are the marks.
import { S, anchorOf, changed, save, say } from "./store.js";
import { hideTip, showTip } from "./tip.js";

const MARK = 22;
const DOTS_FROM = 1500; // beyond this many marks the rest are dots
const loaded = new Map();
const css = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();

function loadImage(number, redraw) {
  let image = loaded.get(number);
  if (!image) {
    image = new Image();
    image.src = `/thumb/${number}`;
    loaded.set(number, image);
  }
  if (!image.complete) image.addEventListener("load", redraw, { once: true });
  return image;
}

export function extent(values) {
  let low = Infinity, high = -Infinity;
  for (const value of values) { if (value < low) low = value; if (value > high) high = value; }
  if (!(high > low)) { low -= 0.5; high += 0.5; }
  const pad = 0.04 * (high - low);
  return [low - pad, high + pad];
}

const nice = (low, high, count = 5) => {
  const raw = (high - low) / count, power = 10 ** Math.floor(Math.log10(raw));
  const stride = [1, 2, 5, 10].map((one) => one * power).find((one) => one >= raw);
  const ticks = [];
  for (let tick = Math.ceil(low / stride) * stride; tick <= high + 1e-12; tick += stride) ticks.push(tick);
  return [ticks, Math.max(0, -Math.floor(Math.log10(stride)))];
};

export class Plot {
  constructor(id, name) {
    this.figure = document.getElementById(id);
    this.name = name;
    this.marks = [];
    this.texts = [];
    this.lines = [];
    this.height = 300;
    this.columns = [];
    const caption = document.createElement("figcaption");
    this.title = document.createElement("b");
    caption.append(this.title);
    for (const kind of ["PNG", "SVG", "CSV"]) {
      const button = document.createElement("button");
      button.textContent = kind;
      button.setAttribute("aria-label", `Save ${name} as ${kind}`);
      button.onclick = () => this[`save${kind}`]();
      caption.append(button);
    }
    this.canvas = document.createElement("canvas");
    this.canvas.tabIndex = 0;
    this.canvas.setAttribute("role", "img");
    this.canvas.setAttribute("aria-label", name);
    this.figure.append(caption, this.canvas);
    this.figure.hidden = true;
    this.planned = false;
    this.redraw = () => { if (!this.planned) { this.planned = true; requestAnimationFrame(() => this.draw()); } };
    this.listen();
    new ResizeObserver(() => this.relayout?.()).observe(this.figure);
  }

  show(layout) {
    this.relayout = () => {
      this.width = this.figure.clientWidth;
      if (!this.width) return;
      Object.assign(this, { marks: [], texts: [], lines: [], bars: [] }, layout(this.width));
      this.redraw();
    };
    this.figure.hidden = false;
    this.relayout();
  }

  hide() { this.figure.hidden = true; this.relayout = null; this.marks = []; }

  draw() {
    this.planned = false;
    if (this.figure.hidden) return;
    const ratio = window.devicePixelRatio || 1;
    this.canvas.width = this.width * ratio;
    this.canvas.height = this.height * ratio;
    this.canvas.style.height = `${this.height}px`;
    this.canvas.setAttribute("aria-label", `${this.title.textContent}. ${this.marks.length} images. Arrow keys go through them.`);
    const pen = this.canvas.getContext("2d");
    pen.scale(ratio, ratio);
    pen.fillStyle = css("--panel");
    pen.fillRect(0, 0, this.width, this.height);
    pen.strokeStyle = css("--line");
    for (const [x1, y1, x2, y2] of this.lines) { pen.beginPath(); pen.moveTo(x1, y1); pen.lineTo(x2, y2); pen.stroke(); }
    pen.font = "12px system-ui, sans-serif";
    for (const { x, y, text, align, strong } of this.texts) {
      pen.fillStyle = css(strong ? "--ink" : "--soft");
      pen.textAlign = align ?? "left";
      pen.fillText(text, x, y);
    }
    for (const bar of this.bars ?? []) { pen.fillStyle = bar.colour; pen.fillRect(bar.x, bar.y, bar.w, bar.h); }
    const order = this.marks.map((mark, index) => [S.brushed?.has(mark.number) ? 1 : 0, index]).sort((a, b) => a[0] - b[0]);
    const dots = this.marks.length > DOTS_FROM;
    for (const [, index] of order) {
      const mark = this.marks[index];
      const dim = S.brushed && !S.brushed.has(mark.number);
      pen.globalAlpha = dim ? 0.18 : 1;
      const image = dots && (dim || index % Math.ceil(this.marks.length / DOTS_FROM)) ? null : loadImage(mark.number, this.redraw);
      const side = image ? mark.side ?? MARK : 5;
      const [x, y] = [mark.x - side / 2, mark.y - side / 2];
      pen.fillStyle = mark.colour;
      pen.fillRect(x - 2, y - 2, side + 4, side + 4);
      if (image?.complete && image.naturalWidth) pen.drawImage(image, x, y, side, side);
      if (index === this.current || (S.lit !== null && S.prompts[S.images[mark.number][0]] === S.lit)) {
        pen.lineWidth = 2.5; pen.strokeStyle = css("--warn"); pen.strokeRect(x - 3, y - 3, side + 6, side + 6);
      }
    }
    pen.globalAlpha = 1;
    if (this.brush) {
      const [x, y, w, h] = this.brush;
      pen.fillStyle = css("--shade"); pen.strokeStyle = css("--accent"); pen.lineWidth = 1;
      pen.fillRect(x, y, w, h); pen.strokeRect(x, y, w, h);
    }
    this.canvas.dataset.drawn = String(this.marks.length);
  }

  nearest(x, y) {
    let best = -1, least = MARK * MARK;
    this.marks.forEach((mark, index) => {
      const far = (mark.x - x) ** 2 + (mark.y - y) ** 2;
      if (far < least) { least = far; best = index; }
    });
    return best;
  }

  point(index) {
    this.current = index;
    const mark = this.marks[index];
    if (!mark) { hideTip(); this.redraw(); return; }
    const box = this.canvas.getBoundingClientRect();
    const at = { left: box.left + mark.x - MARK, right: box.left + mark.x + MARK, top: box.top + mark.y };
    showTip(mark.number, at, mark.values.map((value, column) => `${this.columns[column]} ${value.toFixed(4)}`).join(", "));
    this.redraw();
  }

  listen() {
    const canvas = this.canvas;
    let start = null;
    const at = (event) => { const box = canvas.getBoundingClientRect(); return [event.clientX - box.left, event.clientY - box.top]; };
    canvas.onpointerdown = (event) => { start = at(event); canvas.setPointerCapture(event.pointerId); };
    canvas.onpointermove = (event) => {
      const [x, y] = at(event);
      if (!start) { const index = this.nearest(x, y); if (index !== this.current) this.point(index); return; }
      this.brush = [Math.min(x, start[0]), Math.min(y, start[1]), Math.abs(x - start[0]), Math.abs(y - start[1])];
      this.redraw();
    };
    canvas.onpointerup = () => {
      const box = this.brush;
      start = null; this.brush = null;
      if (box && box[2] + box[3] > 6) {
        const inside = this.marks.filter(({ x, y }) => x >= box[0] && x <= box[0] + box[2] && y >= box[1] && y <= box[1] + box[3]);
        S.brushed = inside.length ? new Set(inside.map((mark) => mark.number)) : null;
        say(inside.length ? `${inside.length} images selected` : "Selection cleared");
      } else S.brushed = null;
      changed("brush");
    };
    canvas.onpointerleave = () => { if (!start) this.point(-1); };
    canvas.onblur = () => this.point(-1);
    canvas.onkeydown = (event) => {
      const order = [...this.marks.keys()].sort((a, b) => this.marks[a].x - this.marks[b].x);
      const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
      if (step) {
        const now = order.indexOf(this.current ?? -1);
        this.point(order[Math.min(order.length - 1, Math.max(0, now < 0 ? (step > 0 ? 0 : order.length - 1) : now + step))]);
      } else if (event.key === " " && this.marks[this.current]) {
        S.brushed = new Set(S.brushed ?? []);
        const number = this.marks[this.current].number;
        if (!S.brushed.delete(number)) S.brushed.add(number);
        if (!S.brushed.size) S.brushed = null;
        changed("brush");
      } else return;
      event.preventDefault();
    };
  }

  savePNG() { this.canvas.toBlob((blob) => save(`${this.name}.png`, blob), "image/png"); }

  async saveSVG() {
    const escape = (text) => String(text).replace(/[&<>"']/g, (sign) => `&#${sign.charCodeAt(0)};`);
    const marks = await Promise.all(this.marks.map(async (mark) => {
      const blob = await (await fetch(`/thumb/${mark.number}`)).blob();
      const data = await new Promise((done) => { const reader = new FileReader(); reader.onload = () => done(reader.result); reader.readAsDataURL(blob); });
      const side = mark.side ?? MARK, [x, y] = [mark.x - side / 2, mark.y - side / 2];
      return `<g><title>${escape(S.prompts[S.images[mark.number][0]])}</title><rect x="${x - 2}" y="${y - 2}" width="${side + 4}" height="${side + 4}" fill="${mark.colour}"/><image x="${x}" y="${y}" width="${side}" height="${side}" href="${data}"/></g>`;
    }));
    const lines = this.lines.map(([x1, y1, x2, y2]) => `<line x1="${x1}" y1="${y1}" x2="${x2}" y2="${y2}" stroke="#bbb"/>`);
    const bars = (this.bars ?? []).map((bar) => `<rect x="${bar.x}" y="${bar.y}" width="${bar.w}" height="${bar.h}" fill="${bar.colour}"/>`);
    const texts = this.texts.map(({ x, y, text, align }) => `<text x="${x}" y="${y}" text-anchor="${{ center: "middle", right: "end" }[align] ?? "start"}">${escape(text)}</text>`);
    const title = `<title>${escape(this.title.textContent)}</title>`;
    const body = `<svg xmlns="http://www.w3.org/2000/svg" width="${this.width}" height="${this.height}" font-family="sans-serif" font-size="12">${title}${lines.join("")}${bars.join("")}${marks.join("")}${texts.join("")}</svg>`;
    save(`${this.name}.svg`, new Blob([body], { type: "image/svg+xml" }));
  }

  saveCSV() {
    // A cell that begins like a formula is text all the same.
    const cell = (value) => `"${String(value).replace(/^([=+\-@\t])/, "'$1").replace(/"/g, '""')}"`;
    const rows = [["source", "prompt", "index", "anchor", ...this.columns].map(cell).join(",")];
    for (const mark of this.marks) {
      const [prompt, index, source] = S.images[mark.number];
      const anchor = S.state.anchors[anchorOf(mark.number)]?.name ?? "";
      rows.push([cell(S.sources[source].name), cell(S.prompts[prompt]), index, cell(anchor), ...mark.values].join(","));
    }
    save(`${this.name}.csv`, new Blob([rows.join("\r\n") + "\r\n"], { type: "text/csv" }));
  }
}

function axis(low, high, from, to, y, height, label, out) {
  const [ticks, digits] = nice(low, high);
  const scale = (value) => from + ((value - low) / (high - low)) * (to - from);
  for (const tick of ticks) {
    out.lines.push([scale(tick), y - height, scale(tick), y]);
    out.texts.push({ x: scale(tick), y: y + 14, text: tick.toFixed(digits), align: "center" });
  }
  out.texts.push({ x: to, y: y + 28, text: label, align: "right" });
  return scale;
}

// One row for every anchor (and source): images stacked at their similarity.
export function strips(values, text) {
  return (width) => {
    const out = { marks: [], texts: [], lines: [], bars: [], columns: ["similarity"] };
    const rows = [];
    S.sources.forEach((source, number) => S.state.anchors.forEach((anchor, index) => {
      const members = [];
      S.images.forEach((image, at) => { if (image[2] === number && anchorOf(at) === index) members.push(at); });
      if (members.length) rows.push({ anchor, members, name: S.sources.length > 1 ? `${anchor.name} · ${source.name}` : anchor.name });
    }));
    const [low, high] = extent(rows.flatMap((row) => row.members.map((at) => values[at])));
    const tall = 96, left = 10, right = width - 14;
    out.height = rows.length * tall + 40;
    const scale = axis(low, high, left + MARK / 2, right - MARK / 2, rows.length * tall, rows.length * tall, `similarity to “${text}”`, out);
    const room = Math.floor((tall - 26) / (MARK + 4));
    rows.forEach((row, index) => {
      const base = (index + 1) * tall - 4;
      out.texts.push({ x: left, y: index * tall + 14, text: `${row.name} (${row.members.length})`, strong: true });
      const bins = new Map();
      for (const at of [...row.members].sort((a, b) => values[a] - values[b])) {
        const bin = Math.round(scale(values[at]) / (MARK + 5));
        bins.set(bin, [...(bins.get(bin) ?? []), at]);
      }
      for (const pile of bins.values()) {
        const side = pile.length <= room ? MARK : Math.max(3, ((room * (MARK + 4)) / pile.length) - 1);
        pile.forEach((at, height) => out.marks.push({
          number: at, x: scale(values[at]), y: base - side / 2 - height * (pile.length <= room ? MARK + 4 : side + 1) - 2,
          side: Math.min(MARK, Math.max(side, 8)), colour: row.anchor.colour, values: [values[at]],
        }));
      }
      out.lines.push([left, base + 3, right, base + 3]);
    });
    return out;
  };
}

export function scatter(points, names, { zero = false } = {}) {
  return (width) => {
    const out = { marks: [], texts: [], lines: [], bars: [], columns: names, height: Math.min(420, Math.max(280, width * 0.62)) };
    const [xl, xh] = extent(points.map((point) => point.x));
    const [yl, yh] = extent(points.map((point) => point.y));
    const bottom = out.height - 38, top = 22;
    const sx = axis(xl, xh, 46, width - 16, bottom, bottom - top, names[0], out);
    const [ticks, digits] = nice(yl, yh);
    const sy = (value) => bottom - ((value - yl) / (yh - yl)) * (bottom - top);
    for (const tick of ticks) {
      out.lines.push([46, sy(tick), width - 16, sy(tick)]);
      out.texts.push({ x: 40, y: sy(tick) + 4, text: tick.toFixed(digits), align: "right" });
    }
    out.texts.push({ x: 8, y: 14, text: names[1] });
    if (zero && xl < 0 && xh > 0) out.bars.push({ x: sx(0) - 1, y: top, w: 2, h: bottom - top, colour: "#8a9299" });
    for (const { number, x, y, colour } of points) out.marks.push({ number, x: sx(x), y: sy(y), colour, values: [x, y] });
    return out;
  };
}
