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

function mark(step, done) { byId(`to-${step}`).classList.toggle("done", Boolean(done)); }

// 1 · Data

async function chooseData(name) {
  if (state.data !== name) Object.assign(state, { data: name, keep: {}, person: "", output: name ? suggestedOutput(name) : "" });
  save();
  byId("columns").replaceChildren();
  columns = [];
  if (name) {
    const found = await ask("columns", { data: name });
    columns = found.columns || [];
    showColumns(found);
    showWords("words-data", found.words);
  }
  byId("output").value = state.output || "";
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

let worldAtlas = null, drawAtlas = null;

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
  byId("new-world").hidden = name !== "new";
  byId("world-map").hidden = byId("world-about").hidden = name === "new";
  if (name === "new") { await drawGround(); return; }
  state.world = name;
  save();
  byId("world-map").replaceChildren();
  byId("world-about").textContent = "";
  if (name) showWorld(await ask("world", { world: name }));
  mark("world", name);
  await requote();
}

async function makeWorld() {
  const bounds = sides();
  if (bounds.some(Number.isNaN)) throw new Error("Give four numbers: west, south, east and north.");
  const layers = Object.fromEntries(["water", "land", "roads"].map((name) => [name, byId(`layer-${name}`).value || null]));
  const made = await ask("make-world", { output: byId("world-output").value, bounds, crs: byId("world-crs").value, ...layers });
  state.world = byId("world-output").value;
  await listFiles();
  byId("new-world").hidden = true;
  byId("world-map").hidden = byId("world-about").hidden = false;
  showWorld(made);
  save();
  mark("world", true);
  await requote();
}

const SIDES = ["west", "south", "east", "north"];
const sides = () => SIDES.map((side) => (byId(side).value.trim() === "" ? NaN : Number(byId(side).value.replace(",", "."))));

// A map to draw on: the layers chosen so far, or else coasts and borders. It never starts from the data.
async function drawGround() {
  const layers = Object.fromEntries(["water", "land", "roads"].map((name) => [name, byId(`layer-${name}`).value || null]));
  const found = await ask("ground", layers), ground = found.map ? found : await (await fetch("/assets/outline.json")).json();
  const box = byId("draw");
  box.replaceChildren();
  element("p", { class: "hint" }, box, found.about || "Drag to move, scroll to zoom. Then draw the boundary as a rectangle, or type it below.");
  const tools = element("div", { class: "tools" }, box), { canvas } = mapFigure(box, "Boundary", "", "");
  const frame = ground.frame, atlas = drawAtlas = new Atlas(ground.map);
  const toStep = (x, y) => atlas.toPixel((x - frame.x) / frame.across * STEPS, (y - frame.y) / frame.up * STEPS);
  atlas.reach = 0;
  atlas.add(canvas, { paint(pen, _, __, ___, ratio) {
    const [west, south, east, north] = sides();
    if ([west, south, east, north].some(Number.isNaN)) return;
    const [left, bottom] = toStep(west, south), [right, top] = toStep(east, north);
    pen.fillStyle = "rgba(20,97,158,.18)"; pen.strokeStyle = colour("--synthetic"); pen.lineWidth = 2 * ratio;
    pen.fillRect(left, top, right - left, bottom - top);
    pen.strokeRect(left, top, right - left, bottom - top);
  } });
  button(tools, "+", "Zoom in", () => atlas.zoom(1.6));
  button(tools, "−", "Zoom out", () => atlas.zoom(1 / 1.6));
  button(tools, "Whole map", "Show the whole map", () => atlas.fit());
  const pencil = element("button", { type: "button", "aria-pressed": "false" }, tools, "Draw a rectangle");
  pencil.addEventListener("click", () => pencil.setAttribute("aria-pressed", String(pencil.getAttribute("aria-pressed") !== "true")));
  drawRectangle(canvas, atlas, frame, () => pencil.getAttribute("aria-pressed") === "true", () => pencil.setAttribute("aria-pressed", "false"));
  atlas.fit();
}

function drawRectangle(canvas, atlas, frame, drawing, done) {
  const figure = canvas.parentElement;
  let from = null;
  const at = (event) => { const { x, y } = atlas.place(canvas, event); return [frame.x + x / STEPS * frame.across, frame.y + y / STEPS * frame.up]; };
  const digits = () => Math.max(0, Math.min(7, Math.ceil(Math.log10(STEPS * atlas.view.scale / frame.across))));
  const stretch = (event) => {
    const to = at(event), bounds = [0, 1].map((axis) => Math.min(from[axis], to[axis])).concat([0, 1].map((axis) => Math.max(from[axis], to[axis])));
    SIDES.forEach((side, k) => { byId(side).value = bounds[k].toFixed(digits()); });
    atlas.ask();
  };
  // Caught on the way to the canvas, which would move the map.
  figure.addEventListener("pointerdown", (event) => { if (event.target === canvas && drawing()) { from = at(event); event.stopPropagation(); canvas.setPointerCapture(event.pointerId); } }, true);
  figure.addEventListener("pointermove", (event) => { if (from) { event.stopPropagation(); stretch(event); } }, true);
  figure.addEventListener("pointerup", (event) => { if (from) { stretch(event); from = null; done(); } }, true);
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

async function foretell() {
  if (!state.world) throw new Error("Choose a world in step 2 first.");
  const many = Number(byId("points-about").value), person = state.unit === "person";
  if (!(many >= 1)) throw new Error("Say about how many there are: a guess will do.");
  const guess = person ? { persons: many, per_person: Number(byId("per-person").value) || 1 } : { points: many };
  const started = await ask("foretell", { world: state.world, ...guess }), box = byId("forecasts");
  showWords("words-promise", started.words);
  box.textContent = "Inventing a crowd…";
  const { forecasts, recommendation } = await follow(started.work, () => {});
  box.replaceChildren();
  element("p", {}, box, recommendation);
  const share = (value) => `${Math.round(100 * value)} %`;
  table(box, ["epsilon", ...(person ? ["points of a person"] : []), "a count within 500 m", "off by", "in the right 100 m square"], forecasts.map((one) => [
    [one.epsilon, "number"], ...(person ? [[String(one.max_points), "number"]] : []), [number(one.count), "number"],
    [one.stops ? "would probably stop: noise" : number(Math.round(one.count_error)), "number"], [share(one.right_square), "number"],
  ]));
  element("p", { class: "hint" }, box, "A forecast from invented people: in three real cities counts were off by 0.8 to 1.4 times as much.");
}

function showEpsilon() {
  const value = EPSILONS[Number(byId("epsilon").value)], factor = Math.exp(Number(value));
  byId("epsilon-shown").textContent = value;
  const words = factor < 1.3 ? "very strong" : factor < 3 ? "strong" : factor < 10 ? "moderate" : "weak";
  byId("epsilon-words").textContent = `A ${words} promise: the odds of any conclusion about one ${state.unit} change by a factor of at most ${factor < 100 ? factor.toFixed(2) : number(Math.round(factor))}. More epsilon means better maps and less privacy.`;
  state.epsilon = value;
  save();
}

// 4 · Release

function order() {
  const named = [byId("column-x").value.trim(), byId("column-y").value.trim()];
  const person = state.unit === "person";
  return {
    data: state.data, world: state.world, output: state.output, epsilon: state.epsilon,
    columns: named[0] && named[1] ? named : null, crs: byId("data-crs").value.trim() || null,
    person: person ? state.person : null, max_points: person ? Number(byId("max-points").value) || 8 : null,
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
    for (const text of found.warnings) element("p", { class: "caution" }, box, text);
    const left = found.account ? `${found.account.left} of ${found.account.cap} is left for '${found.account.dataset}' in your ledger` : `nothing was spent on '${state.data}' so far`;
    byId("left").textContent = `Epsilon: ${left}.`;
    press.textContent = found.price === "0" ? "Make it again: costs nothing, it was paid before" : `Release: spend epsilon ${found.price} of ${state.data}`;
    press.disabled = false;
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
      if (piece.state === "done") for (const text of piece.warnings) element("li", { class: "caution" }, list, text);
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
  button(byId("share-tools"), "Verify and download", "Verify the release and list its files", trying(verify));
  button(byId("share-tools"), "Certificate", "Download a page about the release to print, sign and file", trying(async () => offerPage(await ask("certificate", { output: state.release }))));
  button(byId("share-tools"), "Page to share", "Download a page about the release, without real points", trying(sharePage));
  button(byId("owner-tools"), "Look beside the real points", "Show maps of the real and the synthetic points, for your eyes only", trying(() => look(false)));
  button(byId("owner-tools"), "Measure everything", "Work out every measure; takes a minute", trying(() => look(true)));
  await verify();
}

async function verify() {
  const list = byId("checks"), output = state.release;
  list.replaceChildren();
  const found = await ask("verify", { output });
  for (const text of found.checks) element("li", {}, list, text);
  for (const text of found.caveats) element("li", { class: "open" }, list, text);
  byId("share-tools").querySelectorAll(".part").forEach((part) => part.remove());
  for (const part of found.parts) {
    const made = element("button", { type: "button", class: "part" }, byId("share-tools"), `Download ${part}`);
    made.addEventListener("click", trying(async () => offer(part, await (await send("download", { output, part })).blob())));
  }
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
  fillSelect(byId("data-file"), found.data, "choose a file", state.data);
  fillSelect(byId("world-file"), found.worlds, "choose a world", state.world);
  element("option", { value: "new" }, byId("world-file"), "make a new one…");
  for (const name of ["water", "land", "roads"]) fillSelect(byId(`layer-${name}`), found.layers, "none", byId(`layer-${name}`).value);
  fillSelect(byId("release-file"), found.releases, "choose a release", state.release);
  showEarlier(found.earlier);
  return found;
}

function listen() {
  const shown = () => [worldAtlas, drawAtlas].filter((atlas) => atlas && atlas.panels[0].canvas.isConnected);
  window.addEventListener("resize", () => shown().forEach((atlas) => atlas.fit()));
  window.matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => shown().forEach((atlas) => atlas.ask()));
  const on = (id, event, act) => byId(id).addEventListener(event, trying(act));
  on("data-file", "change", (event) => chooseData(event.target.value));
  on("world-file", "change", (event) => chooseWorld(event.target.value));
  on("make-world", "click", makeWorld);
  for (const name of ["water", "land", "roads"]) on(`layer-${name}`, "change", drawGround);
  for (const side of SIDES) byId(side).addEventListener("input", () => drawAtlas && drawAtlas.ask());
  on("release-file", "change", (event) => chooseRelease(event.target.value));
  on("press", "click", press);
  on("output", "change", (event) => { state.output = event.target.value.trim(); save(); return requote(); });
  on("person", "change", (event) => { state.person = event.target.value; save(); return requote(); });
  on("epsilon", "change", requote);
  on("small", "change", requote);
  on("cap", "change", requote);
  on("foretell", "click", foretell);
  byId("epsilon").addEventListener("input", showEpsilon);
  for (const id of ["column-x", "column-y", "data-crs", "max-points"]) on(id, "change", () => { state[id] = byId(id).value; save(); return requote(); });
  for (const radio of document.querySelectorAll("input[name=unit]")) radio.addEventListener("change", trying(async () => {
    state.unit = radio.value;
    showUnit();
    showEpsilon();
    await requote();
  }));
}

async function begin() {
  for (const [id, title] of Object.entries(STEPS_OF_PAGE)) element("a", { href: `#step-${id}` }, element("li", { id: `to-${id}` }, byId("steps")), title);
  byId("epsilon").max = EPSILONS.length - 1;
  byId("epsilon").value = EPSILONS.indexOf(state.epsilon);
  document.querySelector(`input[name=unit][value=${state.unit}]`).checked = true;
  for (const id of ["column-x", "column-y", "data-crs", "max-points"]) if (state[id]) byId(id).value = state[id];
  showEpsilon();
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
