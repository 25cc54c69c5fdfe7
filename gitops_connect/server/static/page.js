// Keeps a page of gitops-connect up to date, and adds keys and buttons. The page works without this script.
//
// The server says what has changed (server-sent events). The script then reads the page again, at most every 2 s, and
// changes only the parts that differ. While a person reads a list (`data-rows`), its rows change in place: no row
// appears, disappears or moves until the person asks for it. Focus, selection, filter and open details remain.
"use strict";

const PAUSE = 2000; // milliseconds between the begins of two updates
const TYPING = 200; // milliseconds after the last key until the filter is applied
const SILENCE = 25000; // milliseconds without an event or an answer after which the connection counts as lost
const DAY = 86400;
const UNITS = [["day", DAY], ["hour", 3600], ["minute", 60], ["second", 1]];
const CLOCKS = ["age", "utc", "local"];
const PAGES = { f: "/", c: "/connectors", o: "/offset-changes", r: "/pull-requests", h: "/history" };
const ages = new Intl.RelativeTimeFormat("en", { numeric: "always", style: "narrow" });
const title = document.title;

let stale = false; // whether the page may differ from what the server would send
let failed = false; // whether the last update failed
let asked = false; // whether a person has asked for all rows; an update that fails leaves this to the next one
let paused = false;
let running = null;
let lastUpdate = 0;
let timer = 0;
let heard = Date.now();
let heardAt = new Date();
let clock = stored("clock") || "age";
let offset = Date.parse(document.body.dataset.now) - Date.now(); // the clock of the server, seen from this one
let announced = 0;

document.documentElement.classList.add("script");

function stored(name, value) {
  try {
    if (value !== undefined) localStorage.setItem(name, value);
    return localStorage.getItem(name);
  } catch {
    return null; // the browser forbids it
  }
}

function byId(id) {
  return document.getElementById(id);
}

// Times

function age(seconds) {
  const size = Math.abs(seconds);
  const [unit, length] = UNITS.find(([, each]) => size >= each) || UNITS[3];
  return size < 2 ? "now" : ages.format(-Math.trunc(seconds / length), unit);
}

function timeText(when, text, now) {
  const seconds = (now + offset - when) / 1000;
  if (clock === "local") return new Date(when).toLocaleString();
  const isLost = !byId("lost").hidden;
  return clock === "age" && Math.abs(seconds) < DAY && !isLost ? age(seconds) : text;
}

function showTimes(root = document, now = Date.now()) {
  for (const time of root.querySelectorAll("time")) {
    if (!time.title) time.title = time.textContent;
    const text = timeText(Date.parse(time.dateTime), time.title, now);
    if (time.textContent !== text) time.textContent = text;
  }
}

// Updates

// Makes a node what `fresh` is, and touches only what differs. A form keeps what a person has entered.
function morph(old, fresh) {
  if (old.isEqualNode(fresh) || old.nodeName === "FORM") return;
  if (!old.attributes) return void (old.data = fresh.data);
  if (old.matches("[data-rows] tbody > tr")) flash(old);
  const isKept = (name) => name === "open"; // a person opens and closes details
  for (const { name } of [...old.attributes]) if (!isKept(name) && !fresh.hasAttribute(name)) old.removeAttribute(name);
  for (const { name, value } of fresh.attributes) {
    if (!isKept(name) && old.getAttribute(name) !== value) old.setAttribute(name, value);
  }
  morphChildren(old, [...fresh.childNodes]);
}

// Elements with an id are matched by their id, and other nodes by their place.
function morphChildren(old, nodes) {
  const ids = new Set(nodes.map((node) => node.id));
  for (const one of [...old.children]) if (one.id && !ids.has(one.id)) one.remove();
  const known = new Map([...old.children].map((one) => [one.id, one]));
  let place = old.firstChild;
  const leave = () => {
    const left = place;
    place = place.nextSibling;
    left.remove();
  };
  for (const node of nodes) {
    const isSame = place && !place.id && place.nodeName === node.nodeName;
    const same = node.id ? known.get(node.id) : isSame ? place : null;
    if (!same || same.nodeName !== node.nodeName) {
      old.insertBefore(node, place);
      continue;
    }
    while (place && place !== same && !place.id) leave();
    if (place === same) place = place.nextSibling;
    else old.insertBefore(same, place);
    morph(same, node);
  }
  while (place) leave();
}

function flash(row) {
  if (matchMedia("(prefers-reduced-motion: reduce)").matches) return;
  row.animate([{ background: "color-mix(in srgb, var(--forward) 22%, var(--card))" }, {}], PAUSE);
}

function reads(list) {
  const selection = getSelection();
  const isSelected = !selection.isCollapsed && selection.containsNode(list, true);
  const isIn = list.matches(":hover") || list.contains(document.activeElement) || isSelected;
  return list.querySelector("tbody") && (isIn || list.getBoundingClientRect().top < -40);
}

// Gives the fresh list the rows of the list on the page, in their order. Returns in words what waits.
function hold(list, fresh) {
  const [rows, others] = [list, fresh].map((one) => [...one.querySelectorAll("tbody > tr")]);
  const news = new Map(others.map((row) => [row.id, row]));
  const common = rows.filter((row) => news.has(row.id)).map((row) => row.id);
  const more = others.length - common.length;
  const gone = rows.length - common.length;
  const stay = new Set(common);
  const isMoved = others.filter((row) => stay.has(row.id)).some((row, index) => row.id !== common[index]);
  const body = fresh.querySelector("tbody");
  const kept = list.querySelector("tbody").cloneNode(true);
  for (const row of [...kept.rows]) if (news.has(row.id)) row.replaceWith(news.get(row.id));
  if (body) body.replaceWith(kept);
  else fresh.querySelector(".empty")?.replaceWith(list.querySelector(".sheet").cloneNode(true));
  return [more && `${more} new`, gone && `${gone} gone`, isMoved && "new order"].filter(Boolean).join(", ");
}

function apply(fresh) {
  const now = Date.now();
  offset = Date.parse(fresh.body.dataset.now) - now;
  document.body.dataset.snapshot = fresh.body.dataset.snapshot;
  showTimes(document, now);
  showTimes(fresh, now);
  addButtons(fresh);
  const [list, other] = [document, fresh].map((one) => one.querySelector("[data-rows]"));
  const waiting = list && other && !asked && reads(list) ? hold(list, other) : "";
  asked = false;
  byId("waiting").hidden = !waiting;
  byId("waiting").textContent = `${waiting} · show`;
  const active = document.activeElement;
  for (const part of ["header nav", "main"]) morph(document.querySelector(part), fresh.querySelector(part));
  if (active !== document.activeElement && active.isConnected) active.focus({ preventScroll: true });
  const summary = fresh.getElementById("announce").dataset.text;
  const element = byId("announce");
  if (element.dataset.text !== summary && now - announced > 30000) {
    announced = now;
    element.dataset.text = element.textContent = summary;
  }
}

async function update() {
  clearTimeout(timer);
  timer = 0;
  stale = false;
  if (running) running.abort();
  const mine = (running = new AbortController());
  lastUpdate = Date.now();
  let fresh = null;
  try {
    const options = { headers: { Accept: "text/html" }, cache: "no-store", signal: mine.signal };
    const answer = await fetch(location.pathname + location.search, options);
    if (answer.status === 401 || answer.status === 404) return location.reload();
    if (answer.ok) fresh = new DOMParser().parseFromString(await answer.text(), "text/html");
  } catch {
    // The server does not answer in time, or another update has ended this one.
  }
  if (mine !== running) return;
  running = null;
  failed = !fresh?.body.dataset.snapshot;
  if (!failed) apply(fresh);
  if (stale && !failed) updateSoon();
  show();
}

function showAll() {
  asked = true;
  update();
}

// An event while an update runs, the tab is hidden or the page is paused is followed by one update later.
function updateSoon() {
  stale = true;
  if (document.hidden || paused || timer || running) return;
  timer = setTimeout(() => {
    timer = 0;
    if (!document.hidden && !paused) update();
  }, Math.max(0, PAUSE - (Date.now() - lastUpdate)));
}

// The connection

function show() {
  if (Date.now() - lastUpdate > SILENCE) running?.abort();
  const element = byId("connection");
  const isLost = Date.now() - heard > SILENCE;
  element.hidden = false;
  element.classList.toggle("off", isLost || paused || failed);
  element.textContent = paused ? "Paused" : isLost ? "Lost" : failed ? "Update failed" : "Live";
  const lost = byId("lost");
  if (lost.hidden === isLost) {
    const clockTime = (date) => date.toISOString().slice(11, 19);
    lost.hidden = !isLost;
    lost.textContent = `Connection lost ${clockTime(new Date())} UTC. This is the state of ${clockTime(heardAt)} UTC.`;
    document.documentElement.classList.toggle("stale", isLost);
    document.title = isLost ? `⚠ ${title}` : title;
    showTimes();
  }
}

function hear(data) {
  heard = Date.now();
  heardAt = new Date();
  const isNews = data?.number !== undefined && String(data.number) !== document.body.dataset.snapshot;
  if (isNews || stale || failed) updateSoon();
  for (const [cluster, when] of Object.entries(data?.read || {})) {
    const time = document.querySelector(`time[data-read="${CSS.escape(cluster)}"]`);
    if (time) {
      time.dateTime = when;
      time.title = `${when.slice(0, 19).replace("T", " ")} UTC`;
    }
  }
  show();
}

// Whether a change concerns this page: another cluster's does not concern the page of a cluster.
function concerns(change) {
  const [, kind, cluster] = location.pathname.split("/");
  return kind !== "clusters" || !change.clusters || change.clusters.includes(decodeURIComponent(cluster));
}

function connect() {
  const stream = new EventSource("/events");
  stream.addEventListener("change", (event) => {
    const change = JSON.parse(event.data);
    hear(concerns(change) ? change : null);
  });
  stream.addEventListener("alive", (event) => hear(JSON.parse(event.data)));
  stream.addEventListener("error", () => {
    if (stream.readyState === EventSource.CLOSED) setTimeout(connect, 5000);
  });
  addEventListener("pagehide", () => stream.close(), { once: true });
}

// Filter, buttons and keys

function filter() {
  const form = byId("filter");
  if (!form) return;
  const search = byId("search");
  let typing = 0;
  const go = () => {
    const query = new URLSearchParams([...new FormData(form)].filter(([, value]) => value)).toString();
    history.replaceState(null, "", form.getAttribute("action") + (query ? `?${query}` : ""));
    showAll();
  };
  form.addEventListener("input", (event) => {
    clearTimeout(typing);
    typing = setTimeout(go, event.target === search ? TYPING : 0);
  });
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    clearTimeout(typing);
    go();
  });
}

function copy(text, button) {
  navigator.clipboard?.writeText(text).then(() => {
    if (!button) return; // a key was pressed
    const label = button.textContent;
    button.textContent = "Copied";
    setTimeout(() => (button.textContent = label), 1500);
  }, () => {});
}

// What a button copies: the next step alone, or with what a person in a chat must know.
function copied(button) {
  const next = button.closest(".next").dataset.next;
  const line = document.querySelector(".verdict-line");
  if (button.value === "next") return next;
  return [
    document.querySelector("h1").textContent.trim(),
    line ? line.innerText.replace(/\s+/g, " ").trim() : "",
    `Next: ${next}`,
    location.href,
  ].join("\n");
}

function addButtons(root) {
  for (const part of root.querySelectorAll(".next")) {
    for (const [value, label] of [["next", "Copy"], ["chat", "Copy for chat"]]) {
      const button = document.createElement("button");
      Object.assign(button, { className: "copy", type: "button", textContent: label, value });
      part.lastElementChild.append(button);
    }
  }
}

function move(step) {
  const rows = [...document.querySelectorAll(".rows tbody > tr")];
  if (!rows.length) return;
  const at = rows.findIndex((row) => row.contains(document.activeElement));
  const next = rows[Math.min(rows.length - 1, Math.max(0, at + step))];
  next.querySelector("th a, a").focus({ preventScroll: true });
  next.scrollIntoView({ block: "nearest" });
}

const KEYS = {
  "/": () => byId("search")?.focus(),
  j: () => move(1),
  k: () => move(-1),
  c: () => copy((document.activeElement.closest("tr") || document.querySelector("[data-next]"))?.dataset.next || ""),
  p: () => {
    paused = !paused;
    if (!paused && stale) updateSoon();
    show();
  },
  t: () => {
    clock = CLOCKS[(CLOCKS.indexOf(clock) + 1) % CLOCKS.length];
    stored("clock", clock);
    showTimes();
  },
  "?": () => byId("keys").showModal(),
};

function keys() {
  const singles = byId("single-keys");
  singles.checked = stored("keys") !== "off";
  singles.addEventListener("change", () => stored("keys", singles.checked ? "on" : "off"));
  let before = "";
  addEventListener("keydown", (event) => {
    if (event.key === "Escape" && event.target.matches("input")) event.target.blur();
    const writes = event.target.matches("input, select, textarea, dialog *");
    if (writes || event.ctrlKey || event.metaKey || event.altKey || !singles.checked) return;
    const page = before === "g" ? PAGES[event.key] : undefined;
    before = event.key;
    if (!page && !Object.hasOwn(KEYS, event.key)) return;
    event.preventDefault();
    if (page) location.assign(page);
    else KEYS[event.key]();
  });
}

showTimes();
addButtons(document);
setInterval(() => {
  show();
  showTimes();
}, 5000);
filter();
keys();
byId("waiting").addEventListener("click", showAll);
connect();
byId("printed").textContent = `${location.href}, ${document.body.dataset.now}`;
document.addEventListener("visibilitychange", () => {
  if (!document.hidden && stale) updateSoon();
});
document.addEventListener("click", (event) => {
  if (event.target.matches("time") && !event.target.closest("a")) KEYS.t();
  if (event.target.matches(".copy")) copy(copied(event.target), event.target);
});
addEventListener("pageshow", (event) => {
  if (event.persisted) location.reload();
});
