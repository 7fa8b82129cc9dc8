"use strict";
// Linked maps: one view, several canvases. Whole numbers of 16 bits stand for places.
const STEPS = 65535;
const ONE_SCALE = 2e6; // metres: no scale bar is right all over a larger map

function bytes(text) {
  const raw = atob(text), out = new Uint8Array(raw.length);
  for (let i = 0; i < raw.length; i++) out[i] = raw.charCodeAt(i);
  return out.buffer;
}

function shapesOf(coded) {
  const lengths = new Uint32Array(bytes(coded.lengths)), corners = new Uint16Array(bytes(coded.corners));
  const path = new Path2D();
  let at = 0;
  for (const length of lengths) {
    path.moveTo(corners[at], STEPS - corners[at + 1]);
    for (let k = 1; k < length; k++) path.lineTo(corners[at + 2 * k], STEPS - corners[at + 2 * k + 1]);
    at += 2 * length;
  }
  return path;
}

function colour(name) {
  return getComputedStyle(document.documentElement).getPropertyValue(name).trim();
}

function rgb(hex) {
  return [1, 3, 5].map((k) => parseInt(hex.slice(k, k + 2), 16));
}

// The longest of 1, 2, 5, 10… metres that is at most so many.
function round(most) {
  const power = Math.pow(10, Math.floor(Math.log10(most)));
  return [5, 2, 1].map((k) => k * power).find((k) => k <= most);
}

class Atlas {
  constructor(map) {
    this.map = map;
    this.streets = shapesOf(map.streets);
    this.water = shapesOf(map.water);
    this.stepsPerMetre = STEPS / map.metres;
    this.panels = [];
    this.base = document.createElement("canvas");
    this.ink = document.createElement("canvas");
    this.asked = false;
  }

  add(canvas, painter) {
    this.panels.push({ canvas, painter });
    this.listen(canvas);
  }

  // The maps that can be seen: a narrow page hides some.
  get visible() { return this.panels.filter(({ canvas }) => canvas.offsetWidth > 0); }

  measure(canvas = (this.visible[0] || this.panels[0]).canvas) {
    const box = canvas.getBoundingClientRect(), ratio = Math.min(window.devicePixelRatio || 1, 2);
    this.size = { width: Math.max(1, Math.round(box.width * ratio)), height: Math.max(1, Math.round(box.height * ratio)), ratio };
    return this.size;
  }

  fit() {
    const { width, height } = this.measure();
    this.fitted = 0.96 * Math.min(width / (this.map.width * STEPS), height / (this.map.height * STEPS));
    this.view = { x: this.map.width * STEPS / 2, y: this.map.height * STEPS / 2, scale: this.fitted };
    this.ask();
  }

  ask() {
    if (this.asked) return;
    this.asked = true;
    requestAnimationFrame(() => { this.asked = false; this.draw(); });
  }

  draw() {
    let drawnFor = "";
    this.visible.forEach(({ canvas, painter }, place) => {
      const { width, height, ratio } = this.measure(canvas);
      if (drawnFor !== `${width} ${height}`) { this.drawBase(width, height, ratio); drawnFor = `${width} ${height}`; }
      if (canvas.width !== width || canvas.height !== height) { canvas.width = width; canvas.height = height; }
      const pen = canvas.getContext("2d");
      pen.setTransform(1, 0, 0, 1, 0, 0);
      pen.drawImage(this.base, 0, 0);
      painter.paint(pen, this, width, height, ratio);
      if (this.cursor) this.drawCursor(pen, ratio);
      if (!place) this.drawMargin(pen, width, height, ratio);
    });
    this.drawn = (this.drawn || 0) + 1;
  }

  // A clear image to draw points in, the same one for every map and frame.
  sheet(width, height) {
    if (!this.image || this.image.width !== width || this.image.height !== height) {
      this.image = new ImageData(width, height);
      this.ink.width = width; this.ink.height = height;
    }
    this.image.data.fill(0);
    return this.image;
  }

  drawBase(width, height, ratio) {
    this.base.width = width; this.base.height = height;
    const pen = this.base.getContext("2d"), { x, y, scale } = this.view;
    pen.fillStyle = colour("--panel");
    pen.fillRect(0, 0, width, height);
    pen.setTransform(scale, 0, 0, scale, width / 2 - x * scale, height / 2 - (STEPS - y) * scale);
    pen.fillStyle = colour("--land");
    pen.fillRect(0, STEPS * (1 - this.map.height), STEPS * this.map.width, STEPS * this.map.height);
    pen.fillStyle = colour("--water");
    pen.fill(this.water, "evenodd");
    pen.strokeStyle = colour("--street");
    const zoom = scale / this.fitted;
    pen.lineWidth = Math.max(0.6 * ratio / scale, Math.min(5 * ratio / scale, 6 * this.stepsPerMetre)) * (zoom < 2 ? 0.8 : 1);
    pen.stroke(this.streets);
  }

  drawCursor(pen, ratio) {
    const [px, py] = this.toPixel(this.cursor.x, this.cursor.y), reach = this.reach * this.stepsPerMetre * this.view.scale;
    pen.strokeStyle = colour("--ink");
    pen.lineWidth = 1.2 * ratio;
    pen.beginPath();
    pen.arc(px, py, Math.max(reach, 4 * ratio), 0, 2 * Math.PI);
    pen.stroke();
  }

  // A scale bar, and whom the map must name.
  drawMargin(pen, width, height, ratio) {
    const perMetre = this.stepsPerMetre * this.view.scale, metres = round(0.3 * width / perMetre), edge = 10 * ratio;
    const credit = this.map.attribution || "", bar = metres * perMetre;
    pen.font = `${11 * ratio}px system-ui, sans-serif`;
    const stacked = pen.measureText(credit).width + bar + 4 * edge > width, low = height - edge - (stacked && credit ? 16 * ratio : 0);
    const scaled = this.map.metres < ONE_SCALE, label = metres < 1000 ? `${metres} m` : `${metres / 1000} km`;
    const line = () => { pen.beginPath(); pen.moveTo(edge, low - 5 * ratio); pen.lineTo(edge, low); pen.lineTo(edge + bar, low); pen.lineTo(edge + bar, low - 5 * ratio); pen.stroke(); };
    pen.lineJoin = "round";
    for (const [ink, wide] of [["--land", 4], ["--ink", 1.3]]) {
      pen.strokeStyle = pen.fillStyle = colour(ink);
      pen.lineWidth = wide * ratio;
      if (scaled) line();
      const write = (ink === "--land" ? pen.strokeText : pen.fillText).bind(pen);
      pen.textAlign = "left"; if (scaled) write(label, edge + 4 * ratio, low - 4 * ratio);
      pen.textAlign = "right"; write(credit, width - 6 * ratio, height - 6 * ratio);
    }
  }

  toPixel(x, y) {
    const { width, height } = this.size, view = this.view;
    return [width / 2 + (x - view.x) * view.scale, height / 2 - (y - view.y) * view.scale];
  }

  place(canvas, event) {
    const box = canvas.getBoundingClientRect(), { width, height, ratio } = this.measure(canvas), view = this.view;
    const px = (event.clientX - box.left) * ratio, py = (event.clientY - box.top) * ratio;
    return { x: view.x + (px - width / 2) / view.scale, y: view.y - (py - height / 2) / view.scale };
  }

  zoom(factor, around) {
    const view = this.view, scale = Math.min(Math.max(view.scale * factor, this.fitted * 0.6), this.fitted * 400);
    if (around) {
      view.x = around.x - (around.x - view.x) * view.scale / scale;
      view.y = around.y - (around.y - view.y) * view.scale / scale;
    }
    view.scale = scale;
    this.ask();
  }

  move(right, up) {
    this.view.x += right / this.view.scale;
    this.view.y += up / this.view.scale;
    this.ask();
  }

  listen(canvas) {
    const held = new Map();
    const spread = () => { const [a, b] = [...held.values()]; return Math.hypot(a.clientX - b.clientX, a.clientY - b.clientY); };
    canvas.addEventListener("pointerdown", (event) => {
      canvas.setPointerCapture(event.pointerId);
      held.set(event.pointerId, event);
    });
    canvas.addEventListener("pointermove", (event) => {
      const before = held.get(event.pointerId);
      if (before && held.size === 1) {
        const { ratio } = this.measure(canvas);
        this.move(-(event.clientX - before.clientX) * ratio, (event.clientY - before.clientY) * ratio);
      }
      const apart = held.size === 2 ? spread() : 0;
      if (before) held.set(event.pointerId, event);
      if (apart) this.zoom(spread() / apart, this.place(canvas, event));
      this.cursor = this.place(canvas, event);
      if (this.told) this.told(this.cursor);
      this.ask();
    });
    for (const name of ["pointerup", "pointercancel"]) canvas.addEventListener(name, (event) => held.delete(event.pointerId));
    canvas.addEventListener("pointerleave", () => { this.cursor = null; if (this.told) this.told(null); this.ask(); });
    canvas.addEventListener("wheel", (event) => {
      event.preventDefault();
      this.zoom(Math.exp(-event.deltaY * (event.deltaMode ? 0.05 : 0.0016)), this.place(canvas, event));
    }, { passive: false });
    canvas.addEventListener("dblclick", (event) => this.zoom(2, this.place(canvas, event)));
    canvas.addEventListener("keydown", (event) => {
      const step = 60, act = {
        "+": () => this.zoom(1.5), "=": () => this.zoom(1.5), "-": () => this.zoom(1 / 1.5), "0": () => this.fit(),
        ArrowLeft: () => this.move(-step, 0), ArrowRight: () => this.move(step, 0),
        ArrowUp: () => this.move(0, step), ArrowDown: () => this.move(0, -step),
      }[event.key];
      if (act) { event.preventDefault(); act(); }
    });
  }
}

class Dots {
  constructor(coded, ink) {
    this.places = new Uint16Array(bytes(coded.data));
    this.ink = ink;
    this.weight = coded.shown ? coded.inside / coded.shown : 1;
    this.bins = (coded.bins || []).map((text) => new Uint16Array(bytes(text)));
    this.lit = null;
    this.haze = document.createElement("canvas");
    this.like = this; // whose number of points says how strong each is
  }

  // Show only the points of one hour, by the bins of a time of day, so many to a day; of all hours, if it is null.
  light(part, perDay, hour) {
    this.lit = hour === null ? null : this.bins[part].map((bin) => (bin < perDay && Math.floor(24 * bin / perDay) === hour ? 1 : 0));
  }

  // Count the points of each bin of a kept column, within a circle or in all.
  profile(part, size, circle) {
    const counts = new Array(size).fill(0), places = this.places, limit = circle ? circle.reach * circle.reach : 0;
    this.bins[part].forEach((bin, k) => {
      const dx = circle ? places[2 * k] - circle.x : 0, dy = circle ? places[2 * k + 1] - circle.y : 0;
      if (dx * dx + dy * dy <= limit) counts[bin]++;
    });
    return counts;
  }

  get length() { return this.lit ? this.lit.reduce((sum, one) => sum + one, 0) : this.places.length / 2; }

  // How many points would lie within so many pixels, if all lay evenly on a quarter of the map: people crowd.
  crowd(atlas, pixels) {
    return 4 * this.like.length * pixels / (atlas.map.width * atlas.map.height * Math.pow(STEPS * atlas.view.scale, 2));
  }

  paint(pen, atlas, width, height, ratio) {
    if (atlas.smooth) { this.paintDensity(pen, atlas, width, height, ratio); return; }
    const image = atlas.sheet(width, height), size = this.size(atlas, ratio);
    this.dot(new Uint32Array(image.data.buffer), this.inks(this.crowd(atlas, size * size)), size, atlas, width, height);
    atlas.ink.getContext("2d").putImageData(image, 0, 0);
    pen.drawImage(atlas.ink, 0, 0);
  }

  // What a pixel becomes where one more point lies, by how opaque it was; the fewer there are, the stronger is each.
  inks(crowd) {
    const [red, green, blue] = rgb(colour(this.ink)), base = (blue << 16) | (green << 8) | red, inks = new Uint32Array(256);
    const strength = Math.min(0.9, Math.max(0.05, 0.45 / Math.sqrt(crowd)));
    for (let before = 0; before < 256; before++) inks[before] = (Math.round(before + strength * (255 - before)) << 24) | base;
    return inks;
  }

  dot(pixels, inks, size, atlas, width, height) {
    const { x, y, scale } = atlas.view, { places, lit } = this;
    const left = width / 2 - x * scale, top = height / 2 + y * scale, back = (size - 1) >> 1;
    for (let k = 0; k < places.length; k += 2) {
      if (lit && !lit[k >> 1]) continue;
      const px = Math.floor(left + places[k] * scale) - back, py = Math.floor(top - places[k + 1] * scale) - back;
      if (px < 0 || py < 0 || px + size > width || py + size > height) continue;
      for (let row = py; row < py + size; row++)
        for (let at = row * width + px, end = at + size; at < end; at++) pixels[at] = inks[pixels[at] >>> 24];
    }
  }

  // The side of a point, in pixels.
  size(atlas, ratio) {
    return Math.max(1, Math.min(6 * ratio, Math.round(ratio * (0.8 + 0.75 * Math.log2(Math.max(1, atlas.view.scale / atlas.fitted))))));
  }

  // Counts in blocks of a few pixels, blurred: each map of an atlas by the same scale.
  paintDensity(pen, atlas, width, height, ratio) {
    const side = 3 * ratio, reach = 3, rim = 4 * reach, columns = Math.ceil(width / side) + 2 * rim, rows = Math.ceil(height / side) + 2 * rim;
    const { x, y, scale } = atlas.view, { places, lit } = this, left = width / 2 - x * scale, top = height / 2 + y * scale;
    let blocks = new Float32Array(columns * rows);
    for (let k = 0; k < places.length; k += 2) {
      const column = Math.floor((left + places[k] * scale) / side) + rim, row = Math.floor((top - places[k + 1] * scale) / side) + rim;
      if (column >= 0 && row >= 0 && column < columns && row < rows && !(lit && !lit[k >> 1])) blocks[row * columns + column]++;
    }
    for (let turn = 0; turn < 3; turn++) blocks = blurred(blurred(blocks, columns, rows, 1, columns, reach), rows, columns, columns, 1, reach);
    const [red, green, blue] = rgb(colour(this.ink)), image = new ImageData(columns, rows), full = this.crowd(atlas, side * side);
    for (let k = 0; k < blocks.length; k++) image.data.set([red, green, blue, 235 * (1 - Math.exp(-1.2 * blocks[k] / full))], 4 * k);
    this.haze.width = columns; this.haze.height = rows;
    this.haze.getContext("2d").putImageData(image, 0, 0);
    const [west, north] = atlas.toPixel(0, STEPS * atlas.map.height), [east, south] = atlas.toPixel(STEPS * atlas.map.width, 0);
    pen.save();
    pen.beginPath();
    pen.rect(west, north, east - west, south - north);
    pen.clip();
    pen.drawImage(this.haze, -rim * side, -rim * side, columns * side, rows * side);
    pen.restore();
  }

  within(centre, reach) {
    const limit = reach * reach, { places, lit } = this;
    let found = 0;
    for (let k = 0; k < places.length; k += 2) {
      if (lit && !lit[k >> 1]) continue;
      const dx = places[k] - centre.x, dy = places[k + 1] - centre.y;
      if (dx * dx + dy * dy <= limit) found++;
    }
    return Math.round(found * this.weight);
  }
}

// Means over 2 · reach + 1 neighbours along lines of `long` blocks, `step` apart; the lines lie `next` apart.
function blurred(blocks, long, lines, step, next, reach) {
  const out = new Float32Array(blocks.length), share = 1 / (2 * reach + 1);
  for (let line = 0; line < lines; line++) {
    let sum = 0;
    for (let k = -reach; k < long; k++) {
      if (k + reach < long) sum += blocks[line * next + (k + reach) * step];
      if (k > reach) sum -= blocks[line * next + (k - reach - 1) * step];
      if (k >= 0) out[line * next + k * step] = sum * share;
    }
  }
  return out;
}

// One painter left of a line and another right of it.
class Swipe {
  constructor(left, right) { Object.assign(this, { left, right, share: 0.5 }); }

  paint(pen, atlas, width, height, ratio) {
    const line = Math.round(width * this.share);
    for (const [painter, from, to] of [[this.left, 0, line], [this.right, line, width]]) {
      pen.save();
      pen.beginPath();
      pen.rect(from, 0, to - from, height);
      pen.clip();
      painter.paint(pen, atlas, width, height, ratio);
      pen.restore();
    }
    pen.fillStyle = colour("--ink");
    pen.fillRect(line - ratio, 0, 2 * ratio, height);
  }
}

// Where there are more synthetic points the synthetic colour, where there are fewer the real one; faded within noise.
class Difference {
  constructor(real, synthetic, map, metres, noise = null) {
    // Of the noise: (synthetic points in a cell, metres of its side) → a difference that noise alone reaches now and then.
    Object.assign(this, { real, synthetic, map, noise });
    this.set(metres);
  }

  set(metres) {
    const step = metres * STEPS / this.map.metres, columns = Math.ceil(STEPS / step) + 1;
    const cells = new Map();
    for (const [dots, sign] of [[this.real, -1], [this.synthetic, 1]])
      for (let k = 0; k < dots.places.length; k += 2) {
        if (dots.lit && !dots.lit[k >> 1]) continue;
        const cell = Math.floor(dots.places[k + 1] / step) * columns + Math.floor(dots.places[k] / step);
        const held = cells.get(cell) || { value: 0, synthetic: 0 };
        held.value += sign * dots.weight;
        if (sign > 0) held.synthetic += dots.weight;
        cells.set(cell, held);
      }
    const sizes = [...cells.values()].map(({ value }) => Math.abs(value)).sort((a, b) => a - b);
    // What keeps a column adds noise of its own, of which nothing is known here.
    const noise = this.synthetic.lit ? null : this.noise;
    for (const held of cells.values()) held.faded = noise !== null && Math.abs(held.value) <= noise(held.synthetic, metres);
    this.most = Math.max(1, sizes[Math.floor(0.98 * (sizes.length - 1))] || 1);
    this.faded = noise === null ? null : [...cells.values()].filter((held) => held.faded).length / Math.max(1, cells.size);
    Object.assign(this, { step, columns, cells, metres });
  }

  paint(pen, atlas, width, height) {
    const side = this.step * atlas.view.scale, more = rgb(colour("--synthetic")), fewer = rgb(colour("--real"));
    for (const [cell, { value, faded }] of this.cells) {
      const [px, py] = atlas.toPixel((cell % this.columns) * this.step, (Math.floor(cell / this.columns) + 1) * this.step);
      if (px + side < 0 || py + side < 0 || px > width || py > height) continue;
      const part = Math.min(1, Math.abs(value) / this.most);
      if (part < 0.04) continue;
      pen.fillStyle = `rgba(${value > 0 ? more : fewer},${(0.12 + 0.78 * part) * (faded ? 0.2 : 1)})`;
      pen.fillRect(px, py, Math.ceil(side), Math.ceil(side));
    }
  }
}
