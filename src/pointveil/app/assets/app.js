"use strict";
// The five steps. Every text goes in as text; real points stay in memory, and in storage are only names and settings.
const EPSILONS = ["0.1", "0.2", "0.25", "0.5", "0.75", "1", "1.5", "2", "3", "4", "5", "8", "10"];
const KINDS = { "": "leave out", time: "time", category: "category", number: "number", id: "new ids" };
const HINTS = { time: "2024-03-01/2024-04-01", category: "bus,tram,metro", number: "0..100", id: "" };
const STEPS_OF_PAGE = { data: "Data", world: "World", promise: "Promise", release: "Release", look: "Look and share" };
const secret = sessionStorage.getItem("pointveil-secret") || "";
const state = Object.assign({ epsilon: "1", unit: "point", keep: {} }, JSON.parse(sessionStorage.getItem("pointveil-state") || "{}"));
let columns = [], quoted = null, asking = 0;

function save() { sessionStorage.setItem("pointveil-state", JSON.stringify(state)); }

async function send(action, body) {
  const answer = await fetch(`/api/${action}`, {
    method: "POST", headers: { "content-type": "application/json", "x-pointveil-secret": secret }, body: JSON.stringify(body),
  });
  if (answer.ok) return answer;
  const text = await answer.text();
  let told = text;
  try { told = JSON.parse(text).error; } catch { /* a plain sentence */ }
  throw new Error(told);
}

const ask = async (action, body = {}) => (await send(action, body)).json();

function complain(error) {
  const box = byId("fault");
  box.hidden = !error;
  box.textContent = error ? (error.message === "Failed to fetch" ? "The server has ended. Start 'pointveil app' again: what was paid for is kept." : error.message) : "";
  if (error) box.scrollIntoView({ block: "nearest" });
}

function trying(act) {
  return async (...given) => { complain(null); try { return await act(...given); } catch (error) { complain(error); return undefined; } };
}

function fillSelect(select, names, first, chosen) {
  select.replaceChildren();
  element("option", { value: "" }, select, first);
  for (const name of names) element("option", { value: name }, select, name);
  select.value = names.includes(chosen) ? chosen : "";
}

function showWords(id, words) {
  const box = byId(id);
  const open = box.querySelector("details")?.open;
  box.replaceChildren();
  const more = element("details", {}, box);
  more.open = Boolean(open);
  element("summary", {}, more, "The same as a command, or in Python");
  for (const text of [words.shell, words.python]) {
    const code = element("pre", {}, more, text);
    button(code, "Copy", "Copy", () => navigator.clipboard.writeText(text));
  }
}

function doing(parent, text, why, act) {
  const made = element("button", { type: "button", title: why }, parent, text);
  made.addEventListener("click", trying(act));
  return made;
}

function mark(step, done) { byId(`to-${step}`).classList.toggle("done", Boolean(done)); }

// 1 · Data

async function chooseData(name) {
  const anew = state.data !== name;
  if (anew) Object.assign(state, { data: name, keep: {}, person: "", output: name ? suggestedOutput(name) : "" });
  byId("columns").replaceChildren();
  columns = [];
  if (name) {
    const found = await ask("columns", { data: name });
    columns = found.columns || [];
    // Whoever may have many points is protected with all of them, unless the owner says otherwise.
    const owner = columns.find((column) => column.guess === "person");
    if (anew) Object.assign(state, owner ? { unit: "person", person: owner.name } : { unit: "point" });
    showColumns(found);
    showWords("words-data", found.words);
  }
  save();
  byId("output").value = state.output || "";
  document.querySelector(`input[name=unit][value=${state.unit}]`).checked = true;
  showEpsilon();
  fillKeeps();
  mark("data", name);
  await requote();
}

function suggestedOutput(name) {
  const dot = name.lastIndexOf(".");
  return `${name.slice(0, dot)}-synthetic${name.slice(dot)}`;
}

function showColumns(found) {
  const list = element("ul", { class: "chips", "aria-label": "Columns" }, byId("columns"));
  for (const column of columns) element("small", {}, element("li", {}, list, column.name), column.type + (column.guess ? ` · may say ${column.guess === "person" ? "whose it is" : "when it was"}` : ""));
  if (!found.columns) element("p", { class: "hint" }, byId("columns"), "The columns of GeoJSON cannot be listed without reading its records. To keep one, use the command line.");
  else if (!columns.length) element("p", { class: "hint" }, byId("columns"), "There are no columns beside the place.");
}

// 2 · World

const LAYERS = ["water", "land", "roads"], SIDES = ["west", "south", "east", "north"];
let worldAtlas = null, sketch = null;

const typed = (text) => (text.trim() === "" ? NaN : Number(text.trim().replace(",", ".")));
const chosenLayers = () => Object.fromEntries(LAYERS.map((name) => [name, byId(`layer-${name}`).value || null]));
const isPolygon = () => document.querySelector("input[name=shape]:checked").value === "polygon";
const inDegrees = () => byId("world-crs").value.trim().toUpperCase() === "EPSG:4326";

function showWorld(found) {
  byId("world-about").textContent = found.about;
  byId("world-map").replaceChildren();
  const { canvas } = mapFigure(byId("world-map"), "World", "", "");
  worldAtlas = new Atlas(found.map);
  worldAtlas.add(canvas, { paint() {} });
  worldAtlas.fit();
  showWords("words-world", found.words);
}

async function chooseWorld(name) {
  const making = name === "new";
  byId("new-world").hidden = byId("draw").hidden = !making;
  byId("world-map").hidden = byId("world-about").hidden = making;
  if (making) { await drawGround(); return; }
  state.world = name;
  save();
  byId("world-map").replaceChildren();
  byId("world-about").textContent = "";
  if (name) showWorld(await ask("world", { world: name }));
  mark("world", name);
  await requote();
}

// The boundary as it is typed: [west, south, east, north], or a list of corners.
function boundary() {
  const lines = byId("corners").value.split("\n").filter((line) => line.trim());
  return isPolygon() ? lines.map((line) => line.trim().split(/[\s,;]+/).map(Number)) : SIDES.map((side) => typed(byId(side).value));
}

async function makeWorld() {
  const given = boundary(), numbers = given.flat().every(Number.isFinite);
  if (isPolygon() && !(numbers && given.length > 2 && given.every((corner) => corner.length === 2))) throw new Error("Draw a polygon, or write three corners or more: longitude, latitude, one to a line.");
  if (!numbers) throw new Error("Draw a rectangle, or give four numbers: west, south, east and north.");
  const output = byId("world-output").value.trim(), shape = isPolygon() ? { corners: given } : { bounds: given, crs: byId("world-crs").value.trim() };
  const made = await ask("make-world", { output, ...shape, ...chosenLayers() });
  state.world = output;
  await listFiles();
  await chooseWorld(output);
  showWords("words-world", made.words);
}

// A map to draw on: the layers chosen so far, or else coasts and borders. It never starts from the data.
async function drawGround() {
  const found = await ask("ground", chosenLayers()), ground = found.map ? found : await (await fetch("/assets/outline.json")).json();
  const box = byId("draw");
  box.replaceChildren();
  if (found.about) element("p", { class: "caution" }, box, found.about);
  const tools = element("div", { class: "tools" }, box), { canvas, small } = mapFigure(box, "Boundary", "", "");
  element("p", { class: "hint" }, box, "Drag to move, scroll or pinch to zoom. Draw, then move a corner, or pull a new one out of the middle of a side.");
  const keys = element("details", {}, box);
  element("summary", {}, keys, "With the keyboard");
  element("p", { class: "hint", id: "draw-keys" }, keys, "On the map, arrows move it, + and − zoom, Enter presses at the cross in the middle, n goes to the next corner, Delete removes it, and Escape ends. Enter on a corner takes it, and Enter again puts it down.");
  const said = element("p", { class: "unseen", "aria-live": "polite" }, box);
  canvas.setAttribute("aria-describedby", "draw-keys");
  const atlas = new Atlas(ground.map);
  atlas.reach = 0;
  sketch = new Sketch(canvas, atlas, ground.frame, { changed: writeBoundary, say: (text) => { said.textContent = small.textContent = text; } });
  atlas.add(canvas, { paint: (pen, _, __, ___, ratio) => sketch.paint(pen, ratio) });
  atlas.told = (cursor) => { small.textContent = cursor ? sketch.round(sketch.degrees(cursor)).join(", ") : ""; };
  button(tools, "+", "Zoom in", () => atlas.zoom(1.6));
  button(tools, "−", "Zoom out", () => atlas.zoom(1 / 1.6));
  button(tools, "Whole map", "Show the whole map", () => atlas.fit());
  element("button", { type: "button", id: "pencil" }, tools).addEventListener("click", () => (sketch.drawing ? sketch.finish() : sketch.draw()));
  element("button", { type: "button", id: "rub" }, tools).addEventListener("click", () => sketch.remove());
  atlas.fit();
  readBoundary();
}

// Show on the map what is typed, as far as it is whole and in degrees.
function readBoundary() {
  if (!sketch) return;
  const given = boundary(), [west, south, east, north] = given.flat(), whole = (isPolygon() || inDegrees()) && given.flat().every(Number.isFinite);
  const eastward = east < west ? east + 360 : east; // across the antimeridian
  byId("as-rectangle").hidden = isPolygon();
  byId("as-polygon").hidden = !isPolygon();
  sketch.rectangle = !isPolygon();
  sketch.set(!whole || given.length < 3 ? [] : isPolygon() ? given.filter((corner) => corner.length === 2) : [[west, south], [eastward, south], [eastward, north], [west, north]]);
  showPencil();
}

// Type what was drawn.
function writeBoundary(corners) {
  if (corners.length) byId("world-crs").value = "EPSG:4326";
  if (sketch.rectangle) {
    const [lons, lats] = [0, 1].map((axis) => corners.map((corner) => corner[axis]));
    const found = corners.length ? [Math.min(...lons), Math.min(...lats), Math.max(...lons), Math.max(...lats)] : ["", "", "", ""];
    SIDES.forEach((side, k) => { byId(side).value = found[k]; });
  } else byId("corners").value = corners.map((corner) => corner.join(", ")).join("\n");
  showPencil();
}

function showPencil() {
  const pencil = byId("pencil"), shape = sketch.rectangle ? "rectangle" : "polygon";
  pencil.textContent = sketch.drawing ? (sketch.rectangle ? "Stop drawing" : "Finish the polygon") : `Draw a ${shape}`;
  pencil.classList.toggle("on", sketch.drawing);
  byId("rub").textContent = sketch.rectangle || sketch.chosen === null || sketch.corners.length < 4 ? `Remove the ${shape}` : "Remove this corner";
  byId("rub").disabled = !sketch.corners.length;
}

// Another kind of shape starts from the one that is there.
function changeShape() {
  const corners = sketch.corners;
  if (isPolygon() && corners.length && !byId("corners").value.trim()) byId("corners").value = corners.map((corner) => corner.join(", ")).join("\n");
  readBoundary();
}

// 3 · Promise

function fillKeeps() {
  const box = byId("keeps");
  box.replaceChildren();
  fillSelect(byId("person"), columns.map((column) => column.name), "choose a column", state.person);
  showUnit();
  for (const column of columns) {
    const row = element("div", { class: "keep" }, box), name = element("span", {}, row, column.name), now = state.keep[column.name] || { kind: "", text: "" };
    element("small", {}, name, column.type);
    const kind = element("select", { "aria-label": `Keep ${column.name} as` }, row);
    for (const [value, text] of Object.entries(KINDS)) if (column.kind || !value) element("option", { value }, kind, text);
    kind.value = now.kind;
    const text = element("input", { "aria-label": `What is public about ${column.name}`, autocomplete: "off" }, row);
    text.value = now.text;
    const changed = () => {
      text.hidden = !HINTS[kind.value];
      text.placeholder = HINTS[kind.value] || "";
      if (kind.value) state.keep[column.name] = { kind: kind.value, text: text.hidden ? "" : text.value };
      else delete state.keep[column.name];
    };
    changed();
    for (const input of [kind, text]) input.addEventListener("change", () => { changed(); save(); trying(requote)(); });
  }
  if (columns.length) element("p", { class: "hint" }, box, "A period, a list of values or a range: what is written here is public. Never take it from the data.");
  else element("p", { class: "hint" }, box, "None can be kept.");
}

function showUnit() {
  const person = state.unit === "person";
  byId("person-fields").hidden = byId("per-person-field").hidden = !person;
  byId("about-what").textContent = person ? "About how many people are in the file" : "About how many points are in the file";
}

let forecasts = [];

async function foretell() {
  if (!state.world) throw new Error("Choose a world in step 2 first.");
  const many = Number(byId("points-about").value), person = state.unit === "person";
  if (!(many >= 1)) throw new Error("Say about how many there are: a guess will do.");
  const { world, epsilon, max_points, keep } = order();
  const guess = person ? { persons: many, per_person: Number(byId("per-person").value) || 1, max_points } : { points: many };
  const started = await ask("foretell", { world, epsilon, keep, ...guess }), box = byId("forecasts");
  showWords("words-promise", started.words);
  if (!forecasts.length) box.textContent = "Inventing a crowd…";
  const found = await follow(started.work, () => {});
  forecasts = found.forecasts;
  box.replaceChildren();
  element("p", {}, box, found.recommendation);
  const share = (value) => `${Math.round(100 * value)} %`;
  table(box, ["epsilon", ...(person ? ["points of a person"] : []), "a count within 500 m", "off by", "in the right 100 m square"], forecasts.map((one) => [
    [one.epsilon, "number"], ...(person ? [[String(one.max_points), "number"]] : []), [number(one.count), "number"],
    [one.stops ? "would probably stop: noise" : number(Math.round(one.count_error)), "number"], [share(one.right_square), "number"],
  ]));
  element("p", { class: "hint" }, box, found.caveat);
  markForecast();
}

// The rows of the epsilon that is chosen.
function markForecast() {
  document.querySelectorAll("#forecasts tbody tr").forEach((row, k) => row.classList.toggle("now", worth(forecasts[k].epsilon) === worth(state.epsilon)));
}

function forget() { forecasts = []; byId("forecasts").replaceChildren(); }

const worth = (text) => { const [above, below] = text.split("/"); return Number(above) / Number(below || 1); };

function showEpsilon() {
  const value = EPSILONS[Number(byId("epsilon").value)], factor = Math.exp(Number(value));
  byId("epsilon-shown").textContent = value;
  const words = factor < 1.3 ? "very strong" : factor < 3 ? "strong" : factor < 10 ? "moderate" : "weak";
  byId("epsilon-words").textContent = `A ${words} promise: the odds of any conclusion about one ${state.unit} change by a factor of at most ${factor < 100 ? factor.toFixed(2) : number(Math.round(factor))}. More epsilon means better maps and less privacy.`;
  state.epsilon = value;
  save();
  markForecast();
}

async function changeEpsilon() {
  await requote();
  if (forecasts.length && !forecasts.some((one) => worth(one.epsilon) === worth(state.epsilon))) await foretell();
}

// 4 · Release

function order() {
  const named = [byId("column-x").value.trim(), byId("column-y").value.trim()];
  const person = state.unit === "person";
  return {
    data: state.data, world: state.world, output: state.output, epsilon: state.epsilon,
    columns: named[0] && named[1] ? named : null, crs: byId("data-crs").value.trim() || null,
    person: person ? state.person : null, max_points: person ? Number(byId("max-points").value) || null : null,
    small: byId("small").checked, keep: Object.entries(state.keep).map(([name, kept]) => ({ name, ...kept })),
  };
}

const cap = () => byId("cap").value.trim() || null;

async function requote() {
  const turn = ++asking, press = byId("press"), box = byId("quoted");
  quoted = null;
  press.disabled = true;
  mark("promise", false);
  const blank = Object.keys(state.keep).find((name) => HINTS[state.keep[name].kind] && !state.keep[name].text.trim());
  const missing = !state.data ? "Choose a private file first" : !state.world ? "Choose a world first" : !state.output ? "Name the synthetic file first"
    : state.unit === "person" && !state.person ? "Choose the column with the person's id first" : blank ? `Say what is public about ${blank} first` : "";
  if (missing) { press.textContent = missing; box.replaceChildren(); return; }
  press.textContent = "Checking…";
  try {
    const found = await ask("quote", { order: order(), cap: cap() });
    if (turn !== asking) return;
    quoted = found;
    box.replaceChildren();
    byId("cap-field").hidden = found.account !== null;
    element("p", {}, box, found.promise);
    element("p", { class: "hint" }, box, `The place is read from ${found.reads}, in ${found.crs}.`);
    for (const text of found.warnings) if (found.price !== "0") element("p", { class: "caution" }, box, text);
    const left = found.account ? `${found.account.left} of ${found.account.cap} is left for '${found.account.dataset}' in your ledger` : `nothing was spent on '${state.data}' so far`;
    byId("left").textContent = `Epsilon: ${left}.`;
    press.textContent = found.price === "0" ? "Make it again: costs nothing, it was paid before" : `Release: spend epsilon ${found.price} of ${state.data}`;
    press.disabled = false;
    press.classList.toggle("main", found.price !== "0");
    showWords("words-release", found.words);
    mark("promise", true);
  } catch (error) {
    if (turn !== asking) return;
    box.replaceChildren();
    element("p", { class: "caution", role: "status" }, box, error.message);
    press.textContent = "Not yet: see above";
  }
}

async function follow(work, told) {
  for (;;) {
    const piece = await ask("work", { work });
    told(piece);
    if (piece.state === "done") return piece.result;
    if (piece.state === "failed" || piece.state === "unknown") throw new Error(piece.error || "The server was started anew. Press again: it is charged once, whatever happened.");
    await new Promise((later) => setTimeout(later, 250));
  }
}

async function press() {
  if (!quoted) return;
  byId("press").disabled = true;
  const asked = order(), started = await ask("release", { order: asked, cap: cap(), price: quoted.price });
  Object.assign(state, { work: started.work });
  save();
  await watch(started.work, asked.output);
}

async function watch(work, output) {
  const list = byId("progress");
  list.replaceChildren();
  let seen = 0;
  try {
    const made = await follow(work, (piece) => {
      for (const step of piece.steps.slice(seen)) element("li", {}, list, step);
      seen = piece.steps.length;
      if (piece.state === "done") for (const text of piece.warnings) element("li", {}, list, text);
    });
    element("li", { id: "made" }, list, `Done: ${number(made.rows)} synthetic points in ${made.output}, and the statement beside it.`);
    mark("release", true);
    await listFiles();
    await chooseRelease(output);
  } finally {
    delete state.work;
    save();
    await requote();
  }
}

// 5 · Look and share

async function chooseRelease(name) {
  byId("release-file").value = name;
  state.release = name;
  save();
  for (const id of ["checks", "share-tools", "owner-tools"]) byId(id).replaceChildren();
  byId("report").hidden = true;
  if (!name) return;
  doing(byId("owner-tools"), "Look beside the real points", "Maps of the real and the synthetic points, for your eyes only", () => look(false));
  doing(byId("owner-tools"), "Measure everything", "Takes a minute", () => look(true));
  await verify();
}

async function verify() {
  const list = byId("checks"), tools = byId("share-tools"), output = state.release, found = await ask("verify", { output });
  tools.replaceChildren();
  list.replaceChildren();
  for (const part of found.parts) doing(tools, `Download ${part}`, "Save a copy", async () => offer(part, await (await send("download", { output, part })).blob()));
  tools.firstChild.classList.add("main");
  doing(tools, "Certificate", "A page about the release to print, sign and file", async () => offerPage(await ask("certificate", { output })));
  doing(tools, "Page to share", "A page about the release, without real points", sharePage);
  doing(tools, "Verify again", "Look at every byte of the release again", verify);
  for (const text of found.checks) element("li", {}, list, text);
  for (const text of found.caveats) element("li", { class: "open" }, list, text);
  showWords("words-verify", found.words);
  mark("look", true);
}

function offer(name, blob) {
  const link = element("a", { href: URL.createObjectURL(blob), download: name });
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 1000);
}

function offerPage(made) { offer(made.name, new Blob([made.page], { type: "text/html" })); }

async function sharePage() {
  if (!state.world) throw new Error("Choose the world of this release in step 2 first.");
  offerPage(await ask("share", { output: state.release, world: state.world }));
}

async function look(measures) {
  if (!state.data || !state.world) throw new Error("Choose the private file and the world of this release in steps 1 and 2 first.");
  const started = await ask("look", { order: { ...order(), output: state.release }, measures });
  showWords("words-look", started.words);
  const box = byId("report"), told = byId("subtitle");
  box.hidden = false;
  const data = await follow(started.work, (piece) => { told.textContent = `${piece.steps.at(-1) || "Waiting"}…`; });
  show(data);
}

function showEarlier(entries) {
  const box = byId("earlier");
  box.replaceChildren();
  if (!entries.length) { element("p", { class: "hint" }, box, "None are in your ledger yet."); return; }
  table(box, ["when (UTC)", "data", "epsilon", "protects", "state", "file"], entries.map((one) => [[one.time.slice(0, 16).replace("T", " ")], [one.dataset], [one.epsilon, "number"], [one.unit], [one.state], [one.output]]));
}

async function listFiles() {
  const found = await ask("files");
  byId("folder").textContent = `Folder: ${found.folder}`;
  fillSelect(byId("data-file"), found.data, found.data.length ? "choose a file" : "no file of points is in this folder", state.data);
  fillSelect(byId("world-file"), found.worlds, "choose a world", state.world);
  element("option", { value: "new" }, byId("world-file"), "make a new one…");
  for (const name of LAYERS) fillSelect(byId(`layer-${name}`), found.layers, "none", byId(`layer-${name}`).value);
  fillSelect(byId("release-file"), found.releases, "choose a release", state.release);
  showEarlier(found.earlier);
  return found;
}

function listen() {
  const shown = () => [worldAtlas, sketch && sketch.atlas].filter((atlas) => atlas && atlas.panels[0].canvas.isConnected);
  window.addEventListener("resize", () => shown().forEach((atlas) => atlas.fit()));
  window.matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => shown().forEach((atlas) => atlas.ask()));
  const on = (id, event, act) => byId(id).addEventListener(event, trying(act));
  on("data-file", "change", (event) => chooseData(event.target.value));
  on("world-file", "change", (event) => chooseWorld(event.target.value));
  on("make-world", "click", makeWorld);
  for (const name of LAYERS) on(`layer-${name}`, "change", drawGround);
  for (const id of [...SIDES, "corners", "world-crs"]) byId(id).addEventListener("input", readBoundary);
  for (const radio of document.querySelectorAll("input[name=shape]")) radio.addEventListener("change", changeShape);
  on("release-file", "change", (event) => chooseRelease(event.target.value));
  on("press", "click", press);
  on("output", "change", (event) => { state.output = event.target.value.trim(); save(); return requote(); });
  on("person", "change", (event) => { state.person = event.target.value; save(); return requote(); });
  on("epsilon", "change", changeEpsilon);
  on("small", "change", requote);
  on("cap", "change", requote);
  on("foretell", "click", foretell);
  byId("epsilon").addEventListener("input", showEpsilon);
  for (const id of ["column-x", "column-y", "data-crs", "max-points"]) on(id, "change", () => { state[id] = byId(id).value; save(); return requote(); });
  for (const radio of document.querySelectorAll("input[name=unit]")) radio.addEventListener("change", trying(async () => {
    state.unit = radio.value;
    forget();
    showUnit();
    showEpsilon();
    await requote();
  }));
}

async function begin() {
  for (const [id, title] of Object.entries(STEPS_OF_PAGE)) element("a", { href: `#step-${id}` }, element("li", { id: `to-${id}` }, byId("steps")), title);
  byId("epsilon").max = EPSILONS.length - 1;
  byId("epsilon").value = EPSILONS.indexOf(state.epsilon);
  for (const id of ["column-x", "column-y", "data-crs", "max-points"]) if (state[id]) byId(id).value = state[id];
  listen();
  const found = await listFiles();
  const wanted = { data: state.data, world: state.world };
  if (found.worlds.includes(wanted.world)) await chooseWorld(wanted.world);
  await chooseData(found.data.includes(wanted.data) ? wanted.data : "");
  if (state.work) await watch(state.work, state.output);
  else if (found.releases.includes(state.release)) await chooseRelease(state.release);
  document.documentElement.dataset.ready = "yes";
}

trying(begin)();
