// A grid of very many tiles: only those that can be seen exist, and images load as they come into view.

const GAP = 4;
const A_FRAME = 12;
const MOST_SPARE = 400;

// `fill(tile, item)` writes an item into a tile and returns the address of its thumbnail, or null; `open(index)` is
// what Enter and a click do; `over(tile)` and `out()` follow the mouse and the focus; `foot` is what stands below.
export class Tiles {
  constructor(grid, { fill, open, over = () => {}, out = () => {}, foot = 0 }) {
    Object.assign(this, { grid, fill, open, over, out, foot });
    this.sheet = grid.firstElementChild;
    this.tiles = new Map(); // index in the list -> element
    this.spare = [];
    this.waiting = new Map(); // tile -> image to load
    this.list = [];
    this.side = 72;
    this.columns = 1;
    this.current = 0; // where the arrow keys are
    this.planned = this.pumping = false;
    const plan = () => { if (!this.planned) { this.planned = true; requestAnimationFrame(() => this.draw()); } };
    grid.addEventListener("scroll", plan, { passive: true });
    grid.addEventListener("keydown", (event) => this.key(event));
    new ResizeObserver(() => this.layout()).observe(grid);
  }

  show(list) {
    this.list = list;
    this.current = 0;
    this.grid.scrollTop = 0;
    this.layout();
  }

  get row() { return this.side + this.foot + GAP; }

  layout() {
    this.columns = Math.max(1, Math.floor((this.grid.clientWidth - GAP) / (this.side + GAP)));
    this.sheet.style.height = `${Math.ceil(this.list.length / this.columns) * this.row}px`;
    for (const tile of this.tiles.values()) this.spare.push(tile), tile.remove();
    this.tiles.clear();
    this.draw();
  }

  draw() {
    this.planned = false;
    const { grid, row, columns } = this;
    const first = Math.max(0, Math.floor(grid.scrollTop / row) - 2) * columns;
    const last = Math.min(this.list.length, (Math.ceil((grid.scrollTop + grid.clientHeight) / row) + 2) * columns);
    for (const [index, tile] of this.tiles) {
      if (index < first || index >= last) { this.tiles.delete(index); this.waiting.delete(tile); tile.remove(); this.spare.push(tile); }
    }
    const added = document.createDocumentFragment();
    for (let index = first; index < last; index += 1) {
      if (this.tiles.has(index)) continue;
      const tile = this.spare.pop() ?? this.fresh();
      this.put(tile, index);
      this.tiles.set(index, tile);
      added.append(tile);
    }
    this.sheet.append(added);
    this.spare.length = Math.min(this.spare.length, MOST_SPARE);
  }

  fresh() {
    const tile = document.createElement("button");
    tile.tabIndex = -1;
    const thumbnail = document.createElement("img");
    thumbnail.decoding = "async";
    thumbnail.alt = "";
    tile.append(thumbnail);
    tile.onmouseenter = () => this.over(tile);
    tile.onfocus = tile.onmouseenter;
    tile.onmouseleave = () => this.out();
    tile.onblur = tile.onmouseleave;
    tile.onclick = () => { this.out(); this.open(Number(tile.dataset.index)); };
    return tile;
  }

  put(tile, index) {
    const { side, columns, row } = this;
    tile.dataset.index = index;
    tile.style.left = `${(index % columns) * (side + GAP)}px`;
    tile.style.top = `${Math.floor(index / columns) * row}px`;
    tile.style.width = `${side}px`;
    tile.style.height = `${side + this.foot}px`;
    tile.className = "tile";
    const source = this.fill(tile, this.list[index]), thumbnail = tile.firstChild;
    tile.dataset.source = source ?? "";
    thumbnail.hidden = source === null;
    if (source === null || thumbnail.getAttribute("src") === source) return;
    thumbnail.removeAttribute("src");
    this.waiting.set(tile, source);
    if (!this.pumping) { this.pumping = true; requestAnimationFrame(() => this.pump()); }
  }

  // A few images a frame: what has scrolled past by then is not loaded at all.
  pump() {
    let left = A_FRAME;
    for (const [tile, source] of this.waiting) {
      this.waiting.delete(tile);
      if (!tile.isConnected || source !== tile.dataset.source) continue;
      tile.firstChild.src = source;
      left -= 1;
      if (!left) break;
    }
    this.pumping = this.waiting.size > 0;
    if (this.pumping) requestAnimationFrame(() => this.pump());
  }

  // Where a key leads from an index; undefined for other keys.
  target(key, index) {
    const page = Math.max(1, Math.floor(this.grid.clientHeight / this.row)) * this.columns;
    const by = {
      ArrowRight: 1, ArrowLeft: -1, j: 1, k: -1, ArrowDown: this.columns, ArrowUp: -this.columns, PageDown: page, PageUp: -page,
    }[key];
    return { Home: 0, End: this.list.length - 1 }[key] ?? (by === undefined ? undefined : index + by);
  }

  key(event) {
    if (event.ctrlKey || event.metaKey || event.altKey || !this.list.length) return;
    const name = event.key.length === 1 ? event.key.toLowerCase() : event.key;
    const isFirst = event.target === this.grid && !["Home", "End"].includes(name);
    const to = this.target(name, this.current);
    if (to === undefined) return;
    event.preventDefault();
    this.focus(isFirst ? this.current : to);
  }

  focus(to) {
    const { grid, row } = this;
    this.current = Math.max(0, Math.min(this.list.length - 1, to));
    const top = Math.floor(this.current / this.columns) * row;
    if (top < grid.scrollTop) grid.scrollTop = top;
    if (top + row > grid.scrollTop + grid.clientHeight) grid.scrollTop = top + row - grid.clientHeight;
    this.draw();
    this.tiles.get(this.current)?.focus({ preventScroll: true });
  }
}
