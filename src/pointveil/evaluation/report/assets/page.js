"use strict";
// Fill the page from its data; every text goes in as text, never as markup.
let DATA = null;
const WORDS = { good: "good", fair: "usable", poor: "rough", none: "" };
const number = (value) => value.toLocaleString("en-US");
const byId = (id) => document.getElementById(id);

function fillTop() {
  const stated = DATA.statement;
  const made = stated && stated.method ? `method ${stated.method}, epsilon ${stated.epsilon}` : "no statement found";
  const [some, others] = DATA.points.map(number);
  byId("subtitle").textContent = `${others ? `${some} real and ${others} synthetic` : `${some} synthetic`} points · ${made}${stated && stated.made ? ` · made ${stated.made}` : ""}`;
  for (const text of DATA.warnings || []) element("p", {}, byId("warnings"), text);
  for (const card of DATA.cards) {
    const box = element("div", { class: `card ${card.level}` }, byId("cards"));
    const question = element("div", { class: "question" }, box);
    element("span", {}, question, card.question);
    element("span", { class: "word" }, question, WORDS[card.level]);
    element("div", { class: "answer" }, box, card.answer);
    element("p", { class: "sentence" }, box, card.sentence);
  }
}

function mapFigure(grid, title, look, note) {
  const figure = element("figure", {}, grid), caption = element("figcaption", {}, figure);
  element("span", { class: look }, caption, title);
  const small = element("small", {}, caption, note);
  const canvas = element("canvas", { tabindex: "0", "aria-label": `${title}: map` }, figure);
  return { canvas, small };
}

function shownNote(layer) {
  return layer.shown < layer.inside ? `${number(layer.shown)} of ${number(layer.inside)} shown` : `${number(layer.count)} points`;
}

function button(parent, text, label, act) {
  const made = element("button", { type: "button", "aria-label": label, title: label }, parent, text);
  made.addEventListener("click", act);
}

function fillMaps() {
  const section = byId("maps"), { layers } = DATA, both = "real" in layers;
  element("h2", {}, section, both ? "Real beside synthetic" : "The released points");
  const circle = DATA.kept.length ? "The circle under the pointer counts what is in it, and the charts show its columns." : "The circle counts what is within 100 m of the pointer.";
  const sure = DATA.margins ? " Nine in ten counts are as near to the real file's as they say (±)." : "";
  element("p", { class: "hint on-screen" }, section, `Drag, scroll or pinch${both ? ": the maps move together" : ""}. ${circle}${sure}`);
  const tools = element("div", { class: "tools" }, section), grid = element("div", { class: "mapgrid" }, section);
  section.style.setProperty("--shape", Math.max(0.5, Math.min(2.2, DATA.map.width / DATA.map.height)));
  section.classList.toggle("one", !both);
  const atlas = new Atlas(DATA.map), dots = {};
  atlas.reach = 100;
  for (const [name, title] of [["real", "Real"], ["synthetic", "Synthetic"]]) {
    if (!(name in layers)) continue;
    dots[name] = new Dots(layers[name], `--${name}`);
    atlas.add(mapFigure(grid, title, `${name}-ink`, shownNote(layers[name])).canvas, dots[name]);
  }
  button(tools, "+", "Zoom in", () => atlas.zoom(1.6));
  button(tools, "−", "Zoom out", () => atlas.zoom(1 / 1.6));
  button(tools, "Whole map", "Show the whole map", () => atlas.fit());
  chooser(tools, "Show ", "How points are drawn", { points: "points", density: "density" }, "points", (look) => { atlas.smooth = look === "density"; atlas.ask(); });
  const refresh = both ? addDifference(atlas, dots, tools, grid) : () => {};
  const credit = DATA.map.attribution ? "" : DATA.map.streets.lengths || DATA.map.water.lengths ? "The world does not say where its streets and water come from. If from OpenStreetMap: © OpenStreetMap contributors, ODbL." : "";
  if (credit) element("p", { class: "hint credit" }, section, credit);
  if (DATA.kept.length) addCircle(atlas, tools);
  const clock = DATA.kept.findIndex((part) => part.clock);
  if (clock >= 0) addClock(atlas, dots, clock, section, grid, refresh);
  const show = addColumns(atlas, dots, both ? section : element("div", { class: "beside" }, section));
  const here = element("span", { id: "here", class: "hint", "aria-live": "off" }, tools);
  atlas.told = (cursor) => {
    const reach = atlas.reach * atlas.stepsPerMetre;
    show(cursor);
    here.textContent = cursor ? `Within ${number(atlas.reach)} m: ${Object.entries(dots).map(([name, one]) => `${number(one.within(cursor, reach))}${margin(atlas, one, reach)} ${name}`).join(", ")}` : "";
  };
  atlas.fit();
  window.onresize = () => window.atlas.fit();
  window.matchMedia("(prefers-color-scheme: dark)").onchange = () => window.atlas.ask();
  window.atlas = atlas;
}

// How far the count of a circle may be off, where that is known: not for one hour alone, and not outside of the world.
function margin({ cursor, map, reach }, dots, steps) {
  const inside = cursor.x >= 0 && cursor.x <= map.width * STEPS && cursor.y >= 0 && cursor.y <= map.height * STEPS;
  return DATA.margins && inside && !dots.lit ? ` ± ${number(Math.round(tabled(DATA.margins)(dots.within(cursor, steps), reach)))}` : "";
}

function chooser(parent, text, label, choices, value, act) {
  const choice = element("select", { "aria-label": label }, element("label", {}, parent, text));
  for (const [each, name] of Object.entries(choices)) element("option", { value: each }, choice, name);
  choice.value = String(value);
  choice.addEventListener("change", () => act(choice.value));
}

const metresOf = (sizes) => Object.fromEntries(sizes.map((metres) => [metres, `${number(metres)} m`]));

function addCircle(atlas, tools) {
  atlas.reach = 250;
  chooser(tools, "Circle ", "Radius of the circle under the pointer", metresOf([100, 250, 500, 1000]), 250, (metres) => { atlas.reach = Number(metres); atlas.ask(); });
}

// A slider over the hours of a day: all maps show only the points of that hour.
function addClock(atlas, dots, clock, section, grid, refresh) {
  const row = element("div", { class: "tools clock" }), perDay = DATA.kept[clock].labels.filter((label) => /^\d\d:\d\d$/.test(label)).length;
  section.insertBefore(row, grid);
  const label = element("label", {}, row, `Hour of ${DATA.kept[clock].name.split(",")[0]} `);
  const slider = element("input", { id: "hour", type: "range", min: -1, max: 23, step: 1, value: -1, "aria-label": "Hour of the day; leftmost: the whole day" }, label);
  const text = element("output", { for: "hour" }, row), two = (hour) => String(hour).padStart(2, "0");
  const set = () => {
    const hour = Number(slider.value) < 0 ? null : Number(slider.value);
    for (const one of Object.values(dots)) one.light(clock, perDay, hour);
    text.textContent = hour === null ? "the whole day" : `${two(hour)}:00–${two(hour + 1)}:00`;
    slider.setAttribute("aria-valuetext", text.textContent);
    refresh();
    atlas.ask();
  };
  slider.addEventListener("input", set);
  let timer = null;
  const play = element("button", { type: "button", "aria-label": "Play the day" }, row, "Play");
  play.addEventListener("click", () => {
    clearInterval(timer);
    timer = timer === null ? setInterval(() => { slider.value = Number(slider.value) >= 23 ? 0 : Number(slider.value) + 1; set(); }, 700) : null;
    play.textContent = timer === null ? "Play" : "Stop";
  });
  set();
}

// What the kept columns say, within the circle under the pointer or on the whole map; returns what shows another place.
function addColumns(atlas, dots, section) {
  if (!DATA.kept.length) return () => {};
  const title = element("h3", { id: "where" }, section), grid = element("div", { class: "columns" }, section);
  const boxes = DATA.kept.map((part) => {
    const box = element("div", {}, grid);
    element("h4", {}, box, part.name);
    return element("div", {}, box);
  });
  const looks = { real: "r", synthetic: "a" };
  let asked = false, place = null;
  const draw = () => {
    asked = false;
    const circle = place && { ...place, reach: atlas.reach * atlas.stepsPerMetre };
    title.textContent = place ? `Kept columns within ${number(atlas.reach)} m of the pointer` : "Kept columns on the whole map";
    DATA.kept.forEach((part, k) => {
      const series = Object.entries(dots).map(([name, one]) => {
        const counts = one.profile(k, part.labels.length, circle), total = counts.reduce((sum, count) => sum + count, 0);
        return { name, look: looks[name], values: counts.map((count) => count / Math.max(1, total)) };
      }), many = part.ordered && part.labels.length > 8;
      // A bin for other values that nobody has would only flatten the rest.
      const last = part.labels.length - 1, empty = series.every((one) => !one.values[last]);
      const labels = empty ? part.labels.slice(0, last) : part.labels;
      for (const one of series) one.values = one.values.slice(0, labels.length);
      boxes[k].replaceChildren();
      if (many) chart(boxes[k], { labels, series, across: "", show: percent, plain: true, apart: !empty });
      else bars(boxes[k], { labels, series, show: percent });
    });
  };
  draw();
  return (cursor) => {
    place = cursor;
    if (!asked) { asked = true; requestAnimationFrame(draw); }
  };
}

function addDifference(atlas, dots, tools, grid) {
  dots.synthetic.like = dots.real;
  const difference = new Difference(dots.real, dots.synthetic, DATA.map, 100, DATA.noise ? tabled(DATA.noise) : null);
  const { canvas, small } = mapFigure(grid, "Difference", "", "");
  const explained = element("p", { class: "hint" });
  grid.after(explained);
  const tell = () => {
    const most = number(Math.round(difference.most));
    small.replaceChildren(`${most} too few `, element("span", { class: "ramp" }), ` ${most} too many, per cell`);
    const faded = difference.faded === null ? " How much of it is noise is not known." : ` Faded where noise explains it: in ${percent(difference.faded)} of the cells, and it would be about 90% if noise were all.`;
    explained.textContent = `Difference: orange where up to ${most} too few are in a cell of ${number(difference.metres)} m, blue where up to ${most} too many.${faded}`;
  };
  tell();
  atlas.add(canvas, difference);
  addSwipe(atlas, dots, difference, grid);
  const set = (metres) => { difference.set(Number(metres)); tell(); atlas.ask(); };
  chooser(tools, "Cells of the difference ", "Size of the cells of the difference map", metresOf([25, 50, 100, 200, 500]), 100, set);
  return () => set(difference.metres);
}

// What a table tells of so many synthetic points in cells or circles of so many metres: how far off they may be.
function tabled(told) {
  return (count, metres) => {
    const row = told.margins[told.at.indexOf(metres)], above = told.counts.findIndex((one) => one > count);
    if (above <= 0) return row[above < 0 ? row.length - 1 : 0];
    const [low, high] = told.counts.slice(above - 1, above + 1), part = (count - low) / (high - low);
    return row[above - 1] + part * (row[above] - row[above - 1]);
  };
}

// On a narrow page, one map: real left of a line, synthetic or the difference right of it.
function addSwipe(atlas, dots, difference, grid) {
  const { canvas, small } = mapFigure(grid, "Real", "real-ink", ""), swipe = new Swipe(dots.real, dots.synthetic);
  canvas.parentElement.classList.add("swipe");
  const slider = element("input", { type: "range", min: 0, max: 100, value: 50, "aria-label": "Where the real map ends" });
  canvas.before(slider);
  slider.addEventListener("input", () => { swipe.share = Number(slider.value) / 100; atlas.ask(); });
  const rights = { synthetic: dots.synthetic, difference };
  chooser(small, "", "Map on the right", { synthetic: "Synthetic", difference: "Difference" }, "synthetic", (name) => { swipe.right = rights[name]; atlas.ask(); });
  atlas.add(canvas, swipe);
}

function chartBox(title, hint) {
  const box = element("div", {}, document.querySelector(".beside") || byId("charts"));
  element("h2", {}, box, title);
  element("p", { class: "hint" }, box, hint);
  return box;
}

const some = (values) => values.some((value) => value !== null);
const percent = (value) => `${Number((100 * value).toFixed(value < 0.0995 ? 1 : 0))}%`;

function fillCharts() {
  const { cells, ranges, hotspots, offsets, predicted } = DATA;
  if (cells && some(cells.values)) chart(chartBox("Error by cell size", "Share of points in the wrong cell (NCE / 2): small cells are harder. Cells laid at random are the fair test; the dashed line is the paper's grid. The dotted line is how far a second sample of as many real points would be off."), {
    labels: cells.at.map((at) => `${at} m`), across: "side of a cell", show: percent,
    series: [{ name: "laid at random", look: "a", values: halves(cells.shifted) }, { name: "from the map's corner", look: "b", values: halves(cells.values) }, { name: "another real sample", look: "s", values: halves(cells.another) }],
  });
  for (const { name, errors } of DATA.kept) if (errors && some(errors.values)) chart(chartBox(`Place and ${name}`, "Share of points in the wrong cell or bin, by cell size. The dashed line is the same column drawn without looking at the place: the gap is what keeping it by place gives."), {
    labels: errors.at.map((at) => `${at} m`), across: "side of a cell", show: percent,
    series: [{ name: "kept by place", look: "a", values: halves(errors.values) }, { name: "without looking at the place", look: "b", values: halves(errors.without) }],
  });
  if (ranges && some(ranges.values)) chart(chartBox("Error of “how many within r metres?”", "Mean error as a share of the mean true answer, over 100 crossings; dotted, that of a second sample of as many real points."), {
    labels: ranges.at.map((at) => `${at} m`), across: "radius", show: percent,
    series: [{ name: "this release", look: "a", values: shares(ranges.values, ranges.typical) }, { name: "another real sample", look: "s", values: shares(ranges.another, ranges.typical) }],
  });
  if (hotspots && some(hotspots.values)) chart(chartBox("Overlap of hotspots", "How much of the busiest twentieth of the map is the same in both. Finer maps are harder; 100% is perfect."), {
    labels: hotspots.at.map((at) => `${at}²`), across: "cells of the map", show: percent, most: 1,
    series: [{ name: "the same", look: "a", values: hotspots.values }],
  });
  if (offsets) chart(chartBox("Near the streets", `Share of points within each distance of a street: the nearer the two lines, the better. Mean distance: ${offsets.real_mean.toFixed(1)} m real, ${offsets.synthetic_mean.toFixed(1)} m synthetic.`), {
    labels: offsets.at.map((at) => `${at}`), across: "metres from the nearest street, at most", show: percent, most: 1, plain: true,
    series: [{ name: "synthetic", look: "a", values: offsets.synthetic }, { name: "real", look: "r", values: offsets.real }],
  });
  else if (cells) element("p", {}, chartBox("Near the streets", ""), `Not measured: ${DATA.reasons.medd || "there is nothing to compare"}.`);
  if (predicted && some(predicted.values)) chart(chartBox("Predicted error by cell size", "Share of points expected in the wrong cell, from epsilon and the noisy counts alone. A guess that may be off by half. Larger cells are safer to read."), {
    labels: predicted.at.map((at) => `${at} m`), across: "side of a cell", show: percent,
    series: [{ name: "predicted", look: "a", values: halves(predicted.values) }],
  });
}

function shares(values, totals) {
  return values.map((value, k) => (value === null || !totals[k] ? null : value / totals[k]));
}

function halves(values) {
  return values.map((value) => (value === null ? null : Math.min(1, value / 2)));
}

function table(parent, head, rows) {
  const scroll = element("div", { class: "scroll", tabindex: "0" }, parent), made = element("table", {}, scroll);
  const top = element("tr", {}, element("thead", {}, made));
  head.forEach((text, k) => element("th", rows.length && rows[0][k][1] ? { class: rows[0][k][1] } : {}, top, text));
  const body = element("tbody", {}, made);
  for (const row of rows) {
    const line = element("tr", {}, body);
    for (const [text, look, note] of row) {
      const cell = element("td", look ? { class: look } : {}, line, text);
      if (note) element("small", {}, cell, note);
    }
  }
}

// A fraction that no eye can judge, such as 33899/44000, stands below its first digits if they are not all.
function inShort(epsilon) {
  const [above, below = 1] = epsilon.split("/").map(Number), short = Number((above / below).toPrecision(3));
  return [`${short}`, "number", short === above / below ? "" : epsilon];
}

function fillStatement() {
  const section = byId("statement"), stated = DATA.statement;
  element("h2", {}, section, "What is promised");
  if (!stated) { element("p", {}, section, "The synthetic file has no valid statement, in it or beside it: nothing is promised about it."); return; }
  if (stated.rehearsal) element("p", { class: "card poor" }, section, stated.rehearsal);
  element("p", {}, section, stated.words);
  table(section, ["epsilon", "spent on", "question", "cells"], stated.questions.map((one) => [inShort(one.epsilon), [one.purpose], [one.question], [number(one.cells), "number"]]));
  for (const text of stated.unprotected) element("p", {}, section, text);
  const more = element("details", { class: "open-in-print" }, section);
  element("summary", {}, more, "What is not promised");
  const list = element("ul", {}, more);
  for (const text of stated.not_promised) element("li", {}, list, text);
  const whole = element("details", { class: "on-screen" }, section);
  element("summary", {}, whole, "The whole statement");
  element("pre", { tabindex: "0" }, whole, stated.json);
}

// On paper maps are drawn in light colours, and what is not promised is open.
function print(begins) {
  document.documentElement.classList.toggle("printing", begins);
  for (const one of document.querySelectorAll(".open-in-print")) {
    if (begins) one.dataset.was = one.open ? "open" : "";
    one.open = begins || one.dataset.was === "open";
  }
  if (window.atlas) window.atlas.draw();
}
window.addEventListener("beforeprint", () => print(true));
window.addEventListener("afterprint", () => print(false));

function fillNumbers() {
  if (!DATA.table) return;
  const section = byId("numbers");
  element("h2", {}, section, "Every number");
  for (const row of DATA.table) {
    const line = element("div", { class: "measure" }, section);
    element("code", {}, line, row.name);
    const values = element("div", { class: "values" }, line);
    for (const [size, value] of row.values.length ? row.values : [["", "–"]]) {
      const one = element("span", {}, values);
      if (size) element("small", {}, one, size);
      element("b", {}, one, value);
    }
    element("p", {}, line, row.reading + (row.best === "" ? "" : ` Best: ${row.best}.`));
  }
}

// Show data on a page that has these sections; shown again, it replaces what was there.
function show(data) {
  DATA = data;
  for (const id of ["warnings", "cards", "maps", "charts", "statement", "numbers"]) byId(id).replaceChildren();
  fillTop();
  fillMaps();
  fillCharts();
  fillStatement();
  fillNumbers();
  document.documentElement.dataset.ready = "yes";
}

if (byId("data")) show(JSON.parse(byId("data").textContent));
