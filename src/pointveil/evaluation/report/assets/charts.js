"use strict";
// Small charts of lines and bars, drawn as SVG.
const SVG = "http://www.w3.org/2000/svg";

function part(name, attributes, parent, text) {
  const made = document.createElementNS(SVG, name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  if (text !== undefined) made.textContent = text;
  parent.appendChild(made);
  return made;
}

function element(name, attributes = {}, parent = null, text = undefined) {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  if (text !== undefined) made.textContent = text;
  if (parent) parent.appendChild(made);
  return made;
}

function nice(most) {
  const power = Math.pow(10, Math.floor(Math.log10(most)));
  return [1, 2, 4, 6, 8, 10].map((k) => k * power).find((k) => k >= most);
}

// series: [{name, look: "a" | "b" | "r" | "s", values}], one value for each label; null is left out. If the last value
// is apart from the others, no line leads to it.
function chart(parent, { labels, series, across, most, show, plain, apart }) {
  const width = 460, height = 210, left = 50, right = 26, inset = 22, top = 14, bottom = 40;
  const known = series.flatMap((one) => one.values.filter((value) => value !== null));
  const limit = most || nice(Math.max(...known, 1e-9));
  const told = series.map((one) => `${one.name}: ${one.values.map((v) => (v === null ? "none" : show(v))).join(", ")}`).join("; ");
  const svg = part("svg", { viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": told }, parent);
  const x = (k) => left + inset + (width - left - right - inset) * (labels.length > 1 ? k / (labels.length - 1) : 0.5);
  const y = (value) => height - bottom - (height - top - bottom) * Math.min(1, value / limit);
  for (let k = 0; k <= 4; k++) {
    const value = limit * k / 4;
    part("line", { x1: left, x2: width - right, y1: y(value), y2: y(value), class: "axis" }, svg);
    part("text", { x: left - 6, y: y(value) + 4, "text-anchor": "end" }, svg, show(value));
  }
  const every = Math.ceil(labels.length / 9);
  labels.forEach((label, k) => { if (k % every === 0) part("text", { x: x(k), y: height - bottom + 16, "text-anchor": "middle" }, svg, label); });
  part("text", { x: (left + width - right) / 2, y: height - 4, "text-anchor": "middle" }, svg, across);
  for (const one of series) {
    const points = one.values.map((value, k) => [k, value]).filter(([, value]) => value !== null);
    const alone = ([k]) => apart && k === labels.length - 1, joined = points.filter((one) => !alone(one));
    part("polyline", { points: joined.map(([k, value]) => `${x(k)},${y(value)}`).join(" "), class: `mark ${one.look}` }, svg);
    for (const [k, value] of plain ? points.filter(alone) : points) {
      part("circle", { cx: x(k), cy: y(value), r: 3.5, class: one.look }, svg);
      if (one.look === "a" && !plain) part("text", { x: x(k), y: y(value) - 8, "text-anchor": "middle", class: "value" }, svg, show(value));
    }
  }
  legend(parent, series);
  hover(parent, svg, (across) => {
    const k = Math.max(0, Math.min(labels.length - 1, Math.round((across * width - x(0)) / (x(labels.length - 1) - x(0) || 1) * (labels.length - 1))));
    return { at: x(k) / width, label: labels[k], lines: series.filter((one) => one.values[k] !== null).map((one) => [one.look, `${one.name} ${show(one.values[k])}`]) };
  });
}

// Tell the values under the pointer, beside a line through them; `find` turns a part of the width into what is there.
function hover(parent, svg, find) {
  const box = element("div", { class: "hover" });
  parent.insertBefore(box, svg);
  box.appendChild(svg);
  const line = element("i", { hidden: "" }, box), tip = element("div", { class: "tip", hidden: "", "aria-hidden": "true" }, box);
  const leave = () => { line.hidden = tip.hidden = true; };
  const tell = (event) => {
    const { left, width } = box.getBoundingClientRect(), { at, label, lines } = find((event.clientX - left) / width);
    line.hidden = tip.hidden = false;
    line.style.left = `${100 * at}%`;
    tip.replaceChildren(element("b", {}, null, label));
    for (const [look, text] of lines) { const row = element("span", {}, tip); element("i", { class: look }, row); row.append(text); }
    tip.style.cssText = at < 0.5 ? `left: ${100 * at + 2}%` : `right: ${102 - 100 * at}%`;
  };
  for (const name of ["pointermove", "pointerdown"]) box.addEventListener(name, tell);
  for (const name of ["pointerleave", "pointercancel"]) box.addEventListener(name, leave);
}

function legend(parent, series) {
  const key = element("div", { class: "key" }, parent);
  if (series.length > 1) for (const one of series) {
    const entry = element("span", {}, key);
    element("i", { class: one.look }, entry);
    entry.append(one.name);
  }
}

// Bars, one group for each label, the longest list cut to the most frequent; series as for `chart`.
function bars(parent, { labels, series, show }) {
  const most = 12, last = series[series.length - 1].values;
  const order = labels.map((_, k) => k);
  if (labels.length > most) order.sort((a, b) => last[b] - last[a]);
  const rows = order.slice(0, most), thick = 12, step = thick * series.length + 9;
  const width = 460, left = 130, right = 62, height = rows.length * step + 4;
  const limit = Math.max(...series.flatMap((one) => rows.map((k) => one.values[k])), 1e-9);
  const told = series.map((one) => `${one.name}: ${rows.map((k) => `${labels[k]} ${show(one.values[k])}`).join(", ")}`).join("; ");
  const svg = part("svg", { viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": told }, parent);
  rows.forEach((k, row) => {
    const top = row * step + 4, text = labels[k].length > 18 ? `${labels[k].slice(0, 17)}…` : labels[k];
    part("text", { x: left - 8, y: top + thick * series.length / 2 + 4, "text-anchor": "end" }, svg, text);
    series.forEach((one, place) => {
      const long = (width - left - right) * one.values[k] / limit, y = top + place * thick;
      part("rect", { x: left, y, width: long, height: thick - 1, class: `bar ${one.look}` }, svg);
      part("text", { x: left + long + 5, y: y + thick - 2, class: "value" }, svg, show(one.values[k]));
    });
  });
  if (labels.length > most) element("p", { class: "hint" }, parent, `The ${most} most frequent of ${labels.length}.`);
  legend(parent, series);
}
