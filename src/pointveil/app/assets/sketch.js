"use strict";
// Draw a boundary on a map and change it, by mouse, touch or keyboard; corners are [longitude, latitude].
// With the keyboard, the middle of the map is the pointer: the arrows move the map under it, and Enter presses.
const NEAR = { mouse: 10, pen: 14, touch: 24, key: 14 }; // CSS pixels within which a handle is taken

class Sketch {
  // `changed(corners, done)` is told whenever a corner was moved, and `say(text)` what a screen reader should know.
  constructor(canvas, atlas, frame, { changed, say }) {
    Object.assign(this, { canvas, atlas, frame, changed, say });
    this.corners = []; // of the shape, open while it is drawn
    this.rectangle = true;
    this.drawing = false;
    this.chosen = null; // the corner that was touched last
    this.held = null; // the one that follows the pointer, and what holds it: a pointer's id, or "key"
    this.listen();
  }

  draw() {
    Object.assign(this, { corners: [], drawing: true, chosen: null, held: null });
    this.tell();
  }

  finish() {
    const [[x, y], , [u, v]] = this.corners.length > 2 ? this.corners : [[0, 0], [0, 0], [0, 0]];
    if (this.corners.length < 3 || (this.rectangle && (x === u || y === v))) this.corners = [];
    Object.assign(this, { drawing: false, held: null });
    this.tell();
  }

  set(corners) {
    Object.assign(this, { corners, drawing: false, held: null, chosen: null });
    this.atlas.ask();
  }

  remove() {
    if (this.corners.length > 3 && !this.rectangle && this.chosen !== null) this.corners.splice(this.chosen, 1);
    else this.corners = [];
    this.chosen = this.held = null;
    this.tell();
  }

  tell() {
    this.changed(this.corners, !this.drawing);
    this.atlas.ask();
  }

  // Places: degrees, the map's steps, pixels.
  degrees({ x, y }) { return [this.frame.x + x / STEPS * this.frame.across, this.frame.y + y / STEPS * this.frame.up]; }

  steps([lon, lat]) { return [(lon - this.frame.x) / this.frame.across * STEPS, (lat - this.frame.y) / this.frame.up * STEPS]; }

  pixel(corner) { return this.atlas.toPixel(...this.steps(corner)); }

  // Round to what a pixel can show.
  round(place) {
    const digits = Math.max(0, Math.min(7, Math.ceil(Math.log10(STEPS * this.atlas.view.scale / this.frame.across))));
    return place.map((value) => Number(value.toFixed(digits)));
  }

  get middles() {
    if (this.rectangle || this.drawing) return [];
    return this.corners.map(([x, y], k) => { const [u, v] = this.corners[(k + 1) % this.corners.length]; return [(x + u) / 2, (y + v) / 2]; });
  }

  // Take hold of the corner at a place; of a new one, if the middle of a side is there. Returns whether there is any.
  take(place, how, holder) {
    const near = NEAR[how] * this.atlas.size.ratio, [px, py] = this.pixel(place);
    const nearest = (handles) => {
      const apart = handles.map((handle) => { const [x, y] = this.pixel(handle); return Math.hypot(x - px, y - py); });
      const least = Math.min(...apart);
      return least <= near ? apart.indexOf(least) : null;
    };
    let found = nearest(this.corners);
    const middle = found === null ? nearest(this.middles) : null;
    if (middle !== null) { found = middle + 1; this.corners.splice(found, 0, this.middles[middle]); }
    if (found === null) return false;
    this.chosen = found;
    this.held = holder;
    return true;
  }

  move(place) {
    const to = this.round(place), { corners, chosen } = this;
    if (this.rectangle && corners.length === 4) {
      // The neighbours go along, so that it stays a rectangle: 3 - k shares x with corner k, and k ^ 1 shares y.
      corners[3 - chosen] = [to[0], corners[3 - chosen][1]];
      corners[chosen ^ 1] = [corners[chosen ^ 1][0], to[1]];
    }
    corners[chosen] = to;
    this.tell();
  }

  // A press that did not move: begin or end a rectangle, or put a corner of a polygon; on its first or last one, finish.
  press(place, how, holder) {
    if (this.rectangle) {
      if (this.corners.length) { this.move(place); this.finish(); } else this.begin(place, holder);
    } else if (this.take(place, how, null)) {
      if (this.corners.length > 2 && [0, this.corners.length - 1].includes(this.chosen)) this.finish();
    } else {
      this.chosen = this.corners.push(this.round(place)) - 1;
      this.tell();
    }
  }

  begin(place, holder) {
    const at = this.round(place);
    Object.assign(this, { corners: [at, [...at], [...at], [...at]], chosen: 2, held: holder });
    this.tell();
  }

  paint(pen, ratio) {
    const { corners, drawing } = this, pixels = corners.map((corner) => this.pixel(corner));
    pen.strokeStyle = pen.fillStyle = colour("--synthetic");
    pen.lineWidth = 2 * ratio;
    pen.beginPath();
    for (const [x, y] of pixels) pen.lineTo(x, y);
    if (!drawing || this.rectangle) pen.closePath();
    pen.globalAlpha = 0.16;
    pen.fill();
    pen.globalAlpha = 1;
    pen.stroke();
    this.middles.forEach((middle) => this.knob(pen, this.pixel(middle), 3 * ratio, "--paper", ratio));
    pixels.forEach((at, k) => this.knob(pen, at, (k === this.chosen ? 7 : 5) * ratio, k === this.chosen ? "--synthetic" : "--paper", ratio));
    if (this.keys) this.cross(pen, ratio);
  }

  knob(pen, [x, y], radius, fill, ratio) {
    pen.beginPath();
    pen.arc(x, y, radius, 0, 2 * Math.PI);
    pen.fillStyle = colour(fill); pen.strokeStyle = colour("--synthetic"); pen.lineWidth = 1.5 * ratio;
    pen.fill();
    pen.stroke();
  }

  cross(pen, ratio) {
    const x = this.atlas.size.width / 2, y = this.atlas.size.height / 2, arm = 14 * ratio;
    pen.strokeStyle = colour("--ink"); pen.lineWidth = 1.5 * ratio;
    pen.beginPath();
    pen.moveTo(x - arm, y); pen.lineTo(x + arm, y); pen.moveTo(x, y - arm); pen.lineTo(x, y + arm);
    pen.stroke();
  }

  listen() {
    const { canvas, atlas } = this, at = (event) => this.degrees(atlas.place(canvas, event));
    let pressed = null;
    const still = (event) => pressed && Math.hypot(event.clientX - pressed.clientX, event.clientY - pressed.clientY) < 5;
    // On the figure, before the canvas hears of it and moves the map.
    const on = (name, act) => canvas.parentElement.addEventListener(name, (event) => { if (event.target === canvas) act(event); }, true);
    on("pointerdown", (event) => {
      this.keys = false;
      pressed = event.isPrimary && !event.button ? event : null; // a second finger zooms
      if (!pressed) return;
      const place = at(event);
      if (this.drawing && this.rectangle && !this.corners.length) this.begin(place, event.pointerId);
      else if (this.drawing || !this.take(place, event.pointerType, event.pointerId)) return;
      canvas.setPointerCapture(event.pointerId);
      event.stopPropagation();
    });
    on("pointermove", (event) => {
      const hovering = this.drawing && this.rectangle && this.corners.length && !event.buttons;
      if (this.held === event.pointerId && !(event.buttons && still(event)) || hovering) { this.move(at(event)); event.stopPropagation(); }
    });
    on("pointerup", (event) => {
      if (!event.isPrimary) return;
      const [clicked, first] = [still(event), this.held === event.pointerId];
      pressed = null;
      if (this.drawing && this.rectangle && first && !clicked) this.finish();
      else if (this.drawing && clicked && !(this.rectangle && first)) this.press(at(event), event.pointerType, null);
      this.held = null;
      atlas.ask();
    });
    on("pointercancel", () => { pressed = this.held = null; });
    on("dblclick", (event) => event.stopPropagation());
    // After the canvas has moved the map.
    canvas.parentElement.addEventListener("keydown", (event) => { if (event.target === canvas) this.key(event); });
    canvas.addEventListener("blur", () => { this.keys = false; atlas.ask(); });
  }

  key(event) {
    const acts = { Enter: () => this.pressKey(), " ": () => this.pressKey(), Delete: () => this.remove(), Backspace: () => this.remove(), n: () => this.next() };
    const act = acts[event.key], moved = event.key.startsWith("Arrow");
    if (!act && !moved && event.key !== "Escape") return;
    this.keys = true;
    if (event.key === "Escape") { if (this.drawing) this.finish(); this.held = null; }
    if (act) { event.preventDefault(); act(); }
    const stretching = this.drawing && this.rectangle && this.corners.length;
    if (moved && (this.held === "key" || stretching)) this.move(this.degrees(this.atlas.view));
    const [lon, lat] = this.round(this.degrees(this.atlas.view));
    this.say(`${lon}, ${lat}${this.held === "key" ? ", holding a corner" : ""}`);
    this.atlas.ask();
  }

  pressKey() {
    const place = this.degrees(this.atlas.view);
    if (this.drawing) this.press(place, "key", null);
    else if (this.held === "key") this.held = null;
    else this.take(place, "key", "key");
  }

  // Bring the next corner to the middle of the map.
  next() {
    if (!this.corners.length) return;
    this.chosen = this.chosen === null ? 0 : (this.chosen + 1) % this.corners.length;
    [this.atlas.view.x, this.atlas.view.y] = this.steps(this.corners[this.chosen]);
  }
}
