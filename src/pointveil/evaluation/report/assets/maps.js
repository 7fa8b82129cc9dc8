"use strict";
// Linked maps: one view, several canvases. Whole numbers of 16 bits stand for places.
const STEPS = 65535;

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

  measure(canvas = this.panels[0].canvas) {
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
    for (const { canvas, painter } of this.panels) {
      const { width, height, ratio } = this.measure(canvas);
      if (drawnFor !== `${width} ${height}`) { this.drawBase(width, height, ratio); drawnFor = `${width} ${height}`; }
      if (canvas.width !== width || canvas.height !== height) { canvas.width = width; canvas.height = height; }
      const pen = canvas.getContext("2d");
      pen.setTransform(1, 0, 0, 1, 0, 0);
      pen.drawImage(this.base, 0, 0);
      painter.paint(pen, this, width, height, ratio);
      if (this.cursor) this.drawCursor(pen, ratio);
    }
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

  get length() { return this.places.length / 2; }

  paint(pen, atlas, width, height, ratio) {
    const image = atlas.sheet(width, height), pixels = new Uint32Array(image.data.buffer);
    this.dot(pixels, this.inks(atlas.view.scale / atlas.fitted), atlas, width, height, ratio);
    const ink = atlas.ink.getContext("2d");
    ink.putImageData(image, 0, 0);
    pen.drawImage(atlas.ink, 0, 0);
  }

  // What a pixel becomes where one more point lies, by how opaque it was.
  inks(zoom) {
    const [red, green, blue] = rgb(colour(this.ink)), base = (blue << 16) | (green << 8) | red, inks = new Uint32Array(256);
    const shown = this.lit ? this.lit.reduce((sum, one) => sum + one, 0) : this.length;
    const strength = Math.min(0.9, 0.28 * Math.pow(zoom, 0.6) * Math.sqrt(100000 / Math.max(shown, 1000)));
    for (let before = 0; before < 256; before++) inks[before] = (Math.round(before + strength * (255 - before)) << 24) | base;
    return inks;
  }

  dot(pixels, inks, atlas, width, height, ratio) {
    const { x, y, scale } = atlas.view, { places, lit } = this;
    const size = Math.max(1, Math.min(6 * ratio, Math.round(ratio * (0.8 + 0.75 * Math.log2(Math.max(1, scale / atlas.fitted))))));
    const left = width / 2 - x * scale, top = height / 2 + y * scale, back = (size - 1) >> 1;
    for (let k = 0; k < places.length; k += 2) {
      if (lit && !lit[k >> 1]) continue;
      const px = Math.floor(left + places[k] * scale) - back, py = Math.floor(top - places[k + 1] * scale) - back;
      if (px < 0 || py < 0 || px + size > width || py + size > height) continue;
      for (let row = py; row < py + size; row++)
        for (let at = row * width + px, end = at + size; at < end; at++) pixels[at] = inks[pixels[at] >>> 24];
    }
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

class Difference {
  constructor(real, synthetic, map, metres) {
    this.real = real; this.synthetic = synthetic; this.map = map;
    this.set(metres);
  }

  set(metres) {
    const step = metres * STEPS / this.map.metres, columns = Math.ceil(STEPS / step) + 1;
    const cells = new Map();
    for (const [dots, sign] of [[this.real, -1], [this.synthetic, 1]])
      for (let k = 0; k < dots.places.length; k += 2) {
        if (dots.lit && !dots.lit[k >> 1]) continue;
        const cell = Math.floor(dots.places[k + 1] / step) * columns + Math.floor(dots.places[k] / step);
        cells.set(cell, (cells.get(cell) || 0) + sign * dots.weight);
      }
    const sizes = [...cells.values()].map(Math.abs).sort((a, b) => a - b);
    this.most = Math.max(1, sizes[Math.floor(0.98 * (sizes.length - 1))] || 1);
    Object.assign(this, { step, columns, cells, metres });
  }

  paint(pen, atlas, width, height) {
    const side = this.step * atlas.view.scale;
    for (const [cell, value] of this.cells) {
      const [px, py] = atlas.toPixel((cell % this.columns) * this.step, (Math.floor(cell / this.columns) + 1) * this.step);
      if (px + side < 0 || py + side < 0 || px > width || py > height) continue;
      const part = Math.min(1, Math.abs(value) / this.most);
      if (part < 0.04) continue;
      pen.fillStyle = value > 0 ? `rgba(178,24,43,${0.12 + 0.78 * part})` : `rgba(33,102,172,${0.12 + 0.78 * part})`;
      pen.fillRect(px, py, Math.ceil(side), Math.ceil(side));
    }
  }
}
