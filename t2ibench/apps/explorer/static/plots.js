// The swarm of each anchor's images, the scatter of two concepts, the scatter between two anchors.
import { S, anchorOrder, colourOf, css, imagesOf, promptOf, save } from "./store.js";
import { el } from "./dom.js";
import { extent, shuffled, swarm, ticks } from "./geometry.js";
import { hideTip, showTip } from "./tip.js";
import { open } from "./lightbox.js";

const MARK = 22;
const DOTS_FROM = 300; // beyond this many marks all are dots
const FONT = "12px 'Source Sans 3 Variable', system-ui, sans-serif";
const loaded = new Map();

function loadImage(number, redraw) {
  let image = loaded.get(number);
  if (!image) {
    image = new Image();
    image.src = `/thumb/${number}`;
    loaded.set(number, image);
    if (loaded.size > 2000) loaded.delete(loaded.keys().next().value);
  }
  if (!image.complete) image.addEventListener("load", redraw, { once: true });
  return image;
}

export class Plot {
  constructor(id, name) {
    this.figure = document.getElementById(id);
    this.name = name;
    this.marks = [];
    this.texts = [];
    this.lines = [];
    this.bars = [];
    this.order = [];
    this.height = 300;
    this.columns = [];
    this.title = el("b");
    const button = el("button", { text: "PNG", "aria-label": `Save ${name} as PNG`, on: { click: () => this.savePNG() } });
    this.canvas = el("canvas", { tabindex: 0, role: "img", "aria-label": name });
    this.note = "";
    this.figure.append(el("figcaption", {}, this.title, button), this.canvas);
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
      this.order = shuffled(this.marks.length); // so that no anchor lies on top of another
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
    const keys = "Arrow keys go through them, Enter opens one.";
    this.canvas.setAttribute("aria-label", `${this.title.textContent}. ${this.marks.length} images. ${keys}`);
    const pen = this.canvas.getContext("2d");
    pen.scale(ratio, ratio);
    this.paint(pen, true);
    this.canvas.dataset.drawn = String(this.marks.length);
  }

  // `live` also shows what is pointed at and selected; a saved image does not.
  paint(pen, live) {
    pen.fillStyle = css("--surface");
    pen.fillRect(0, 0, this.width, this.height);
    pen.strokeStyle = css("--rule");
    for (const [x1, y1, x2, y2] of this.lines) { pen.beginPath(); pen.moveTo(x1, y1); pen.lineTo(x2, y2); pen.stroke(); }
    pen.font = FONT;
    for (const { x, y, text, align, strong } of this.texts) {
      pen.fillStyle = css(strong ? "--ink" : "--ink-3");
      pen.textAlign = align ?? "left";
      pen.fillText(text, x, y);
    }
    for (const bar of this.bars) { pen.fillStyle = css("--zero"); pen.fillRect(bar.x, bar.y, bar.w, bar.h); }
    this.about = live && S.brushed && this.marks.some((mark) => S.brushed.has(mark.number));
    const above = live && (this.marks[this.current] || S.brushed || S.lit !== null) ? this.order.filter((index) => this.over(index)) : [];
    const over = new Set(above);
    for (const index of this.order) if (!over.has(index)) this.spot(pen, index, live);
    for (const index of above) this.spot(pen, index, live);
    pen.globalAlpha = 1;
  }

  over(index) {
    const { number } = this.marks[index];
    return index === this.current || Boolean(S.brushed?.has(number)) || (S.lit !== null && promptOf(number) === S.lit);
  }

  spot(pen, index, live) {
    const mark = this.marks[index], side = mark.side;
    pen.globalAlpha = this.about && !S.brushed.has(mark.number) ? 0.15 : mark.dot ? 0.75 : 1;
    const [x, y] = [mark.x - side / 2, mark.y - side / 2];
    pen.fillStyle = mark.colour;
    if (mark.dot && side <= 3) pen.fillRect(x, y, side, side); // as good as a disc, and much faster
    else if (mark.dot) { pen.beginPath(); pen.arc(mark.x, mark.y, side / 2, 0, 7); pen.fill(); } else {
      const image = loadImage(mark.number, this.redraw);
      const ready = image.complete && image.naturalWidth;
      pen.lineWidth = 2; pen.strokeStyle = mark.colour; pen.strokeRect(x - 1, y - 1, side + 2, side + 2);
      if (ready) pen.drawImage(image, x, y, side, side);
    }
    if (live && (index === this.current || (S.lit !== null && promptOf(mark.number) === S.lit))) {
      pen.lineWidth = 2.5; pen.strokeStyle = css("--ink"); pen.strokeRect(x - 3, y - 3, side + 6, side + 6);
    }
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
    const at = (event) => { const box = canvas.getBoundingClientRect(); return [event.clientX - box.left, event.clientY - box.top]; };
    canvas.onpointermove = (event) => {
      const index = this.nearest(...at(event));
      if (index !== this.current) this.point(index);
    };
    canvas.onclick = (event) => {
      const index = this.nearest(...at(event));
      if (index >= 0) this.open(index);
    };
    canvas.onpointerleave = () => this.point(-1);
    canvas.onblur = () => this.point(-1);
    canvas.onkeydown = (event) => {
      const order = [...this.marks.keys()].sort((a, b) => this.marks[a].x - this.marks[b].x);
      const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
      if (step) {
        const now = order.indexOf(this.current ?? -1);
        this.point(order[Math.min(order.length - 1, Math.max(0, now < 0 ? (step > 0 ? 0 : order.length - 1) : now + step))]);
      } else if (event.key === "Enter" && this.marks[this.current]) this.open(this.current);
      else return;
      event.preventDefault();
    };
  }

  open(index) {
    const sorted = [...this.marks.keys()].sort((a, b) => this.marks[a].x - this.marks[b].x);
    const number = this.marks[index].number;
    hideTip();
    open(sorted.map((one) => this.marks[one].number), sorted.indexOf(index), this.canvas);
    return number;
  }

  // Twice the size, with the title above and the numbers below.
  async savePNG() {
    const waiting = this.marks.filter((mark) => !mark.dot).map((mark) => loadImage(mark.number, () => {}));
    await Promise.all(waiting.map((image) => image.decode().catch(() => {})));
    const sheet = el("canvas"), pen = sheet.getContext("2d"), extra = 54;
    sheet.width = 2 * this.width; sheet.height = 2 * (this.height + extra);
    pen.scale(2, 2);
    pen.fillStyle = css("--surface"); pen.fillRect(0, 0, this.width, this.height + extra);
    pen.fillStyle = css("--ink"); pen.font = `600 15px ${FONT.slice(5)}`; pen.fillText(this.title.textContent, 10, 20, this.width - 20);
    pen.fillStyle = css("--ink-3"); pen.font = FONT; pen.fillText(this.note || S.encoder, 10, this.height + 46, this.width - 20);
    pen.translate(0, 30);
    this.paint(pen, false);
    sheet.toBlob((blob) => save(`${this.name}.png`, blob), "image/png");
  }

}

function axis(low, high, from, to, y, height, label, out) {
  const { at, digits } = ticks(low, high);
  const scale = (value) => from + ((value - low) / (high - low)) * (to - from);
  for (const tick of at) {
    out.lines.push([scale(tick), y - height, scale(tick), y]);
    out.texts.push({ x: scale(tick), y: y + 14, text: tick.toFixed(digits).replace("-", "−"), align: "center" });
  }
  out.texts.push({ x: to, y: y + 28, text: label, align: "right" });
  return scale;
}

// One row for every anchor (and run): its images beside each other at their similarity, never beyond the row.
export function strips(values, text) {
  return (width) => {
    const out = { marks: [], texts: [], lines: [], bars: [], columns: ["similarity"] };
    const rows = [];
    for (const index of anchorOrder()) {
      S.sources.forEach((source, number) => {
        const members = imagesOf(index, number), anchor = S.state.anchors[index];
        const name = S.sources.length > 1 ? `${anchor.name} · ${source.name}` : anchor.name;
        if (members.length) rows.push({ index, members, name });
      });
    }
    const [low, high] = extent(rows.flatMap((row) => row.members.map((at) => values[at])));
    const tall = 108, head = 20, left = 10, right = width - 14;
    out.height = rows.length * tall + 40;
    const bottom = rows.length * tall;
    const scale = axis(low, high, left + MARK / 2, right - MARK / 2, bottom, bottom, `similarity to “${text}”`, out);
    rows.forEach((row, at) => {
      const middle = at * tall + head + (tall - head) / 2;
      out.texts.push({ x: left, y: at * tall + 14, text: `${row.name} (${row.members.length})`, strong: true });
      const xs = row.members.map((number) => scale(values[number]));
      const { ys, side, dots } = swarm(xs, (tall - head) / 2 - 3), colour = colourOf(row.index);
      row.members.forEach((number, k) => out.marks.push({
        number, x: xs[k], y: middle + ys[k], side, dot: dots, colour, values: [values[number]],
      }));
      out.lines.push([left, (at + 1) * tall - 1, right, (at + 1) * tall - 1]);
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
    const { at, digits } = ticks(yl, yh);
    const sy = (value) => bottom - ((value - yl) / (yh - yl)) * (bottom - top);
    for (const tick of at) {
      out.lines.push([46, sy(tick), width - 16, sy(tick)]);
      out.texts.push({ x: 40, y: sy(tick) + 4, text: tick.toFixed(digits).replace("-", "−"), align: "right" });
    }
    out.texts.push({ x: 8, y: 14, text: names[1] });
    if (zero && xl < 0 && xh > 0) out.bars.push({ x: sx(0) - 0.5, y: top, w: 1, h: bottom - top });
    const dot = points.length > DOTS_FROM, side = dot ? (points.length > 3000 ? 3 : 5) : points.length > 120 ? 14 : MARK;
    for (const { number, x, y, colour } of points) out.marks.push({ number, x: sx(x), y: sy(y), side, dot, colour, values: [x, y] });
    return out;
  };
}
