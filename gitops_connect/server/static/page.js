// Keeps a page of gitops-connect up to date, and adds keys and buttons. The page works without this script.
//
// The server says what has changed (server-sent events). The script then reads the page again, and replaces what
// differs: each element with `data-live`, and in a list (`data-rows`) each row. Rows that the page does not have yet wait
// behind a button while a person reads the list. Focus, scroll position, filter and open details remain.
"use strict";

const PAUSE = 2000; // milliseconds between two updates
const TYPING = 200; // milliseconds after the last key until the filter is applied
const SILENCE = 25000; // milliseconds without an event after which the connection counts as lost
const DAY = 86400;
const UNITS = [["day", DAY], ["hour", 3600], ["minute", 60], ["second", 1]];
const CLOCKS = ["age", "utc", "local"];
const PAGES = { f: "/", c: "/connectors", o: "/offset-changes", r: "/pull-requests", h: "/history" };
const ages = new Intl.RelativeTimeFormat("en", { numeric: "always", style: "narrow" });
const sources = new WeakMap(); // the markup of each live part and each row, as the server has sent it
const title = document.title;

let stale = false;
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

function remember(root) {
  for (const part of root.querySelectorAll("[data-live], [data-rows] tbody > tr")) sources.set(part, part.outerHTML);
}

// Times

function age(seconds) {
  const size = Math.abs(seconds);
  const [unit, length] = UNITS.find(([, each]) => size >= each) || UNITS[3];
  return size < 2 ? "now" : ages.format(-Math.trunc(seconds / length), unit);
}

function timeText(when, text) {
  const seconds = (Date.now() + offset - when) / 1000;
  if (clock === "local") return new Date(when).toLocaleString();
  const isLost = !byId("lost").hidden;
  return clock === "age" && Math.abs(seconds) < DAY && !isLost ? age(seconds) : text;
}

function showTimes() {
  for (const time of document.querySelectorAll("time")) {
    if (!time.title) time.title = time.textContent;
    const text = timeText(Date.parse(time.dateTime), time.title);
    if (time.textContent !== text) time.textContent = text;
  }
}

// Updates

// Calls `change`. If the focus was in `old`, it moves to the same element of the new part.
function keepFocus(old, change, next) {
  const active = document.activeElement;
  const index = old.contains(active) ? [...old.querySelectorAll("*")].indexOf(active) : -1;
  const key = active && active.id;
  change();
  if (index < 0) return;
  const part = next();
  const target = (key && byId(key)) || [...part.querySelectorAll("*")][index];
  if (target) target.focus({ preventScroll: true });
}

// Replaces rows that differ. `inPlace`: no row appears, moves or disappears. Returns how many would.
function replaceRows(body, fresh, inPlace) {
  const before = new Map([...body.rows].map((row) => [row.id, row]));
  let place = body.firstElementChild;
  let others = 0;
  for (const row of [...fresh.rows]) {
    const known = before.get(row.id);
    const html = row.outerHTML;
    before.delete(row.id);
    if (!known && inPlace) {
      others += 1;
      continue;
    }
    if (known && sources.get(known) === html) {
      if (known === place) place = place.nextElementSibling;
      else if (!inPlace) body.insertBefore(known, place);
      continue;
    }
    sources.set(row, html);
    if (known === place && place) place = place.nextElementSibling;
    if (known) row.classList.add("changed");
    if (known && known.classList.contains("at")) row.classList.add("at");
    if (known && inPlace) keepFocus(known, () => known.replaceWith(row), () => row);
    else {
      body.insertBefore(row, known || place);
      if (known) keepFocus(known, () => known.remove(), () => row);
    }
  }
  if (inPlace) return others + before.size;
  for (const row of before.values()) row.remove();
  return 0;
}

function replacePart(part, fresh, atOnce) {
  const html = fresh.outerHTML;
  if (sources.get(part) === html) return;
  const bodies = [part, fresh].map((one) => one.querySelector("tbody"));
  if (part.hasAttribute("data-rows") && bodies[0] && bodies[1]) {
    const reads = !atOnce && (part.contains(document.activeElement) || part.getBoundingClientRect().top < -40);
    const waiting = replaceRows(bodies[0], bodies[1], reads);
    offerRows(part, waiting);
    for (const name of [".tabs", ".pages", ".head"]) {
      const [old, now] = [part, fresh].map((one) => one.querySelector(name));
      if (old && now && old.innerHTML !== now.innerHTML) keepFocus(old, () => old.replaceWith(now), () => now);
    }
    if (!waiting) sources.set(part, html);
    return;
  }
  const opened = new Set([...part.querySelectorAll("details[open]")].map((one) => one.id || one.querySelector("summary").id));
  const scrolled = [...part.querySelectorAll(".terminal, .sheet, .trace")].map((one) => [one.scrollLeft, one.scrollTop]);
  remember(fresh);
  sources.set(fresh, html);
  keepFocus(part, () => part.replaceWith(fresh), () => fresh);
  for (const one of fresh.querySelectorAll("details")) if (opened.has(one.id || one.querySelector("summary").id)) one.open = true;
  [...fresh.querySelectorAll(".terminal, .sheet, .trace")].forEach((one, index) => {
    if (scrolled[index]) [one.scrollLeft, one.scrollTop] = scrolled[index];
  });
}

function offerRows(part, waiting) {
  let button = part.querySelector(".waiting");
  if (!waiting) return button && button.remove();
  if (!button) {
    button = document.createElement("button");
    button.className = "waiting";
    button.type = "button";
    button.addEventListener("click", () => update(true));
    part.prepend(button);
  }
  button.textContent = `${waiting} more changes · show`;
}

function apply(fresh, atOnce) {
  for (const part of document.querySelectorAll("[data-live]")) {
    const other = fresh.getElementById(part.id);
    if (other) replacePart(part, other, atOnce);
  }
  document.body.dataset.snapshot = fresh.body.dataset.snapshot;
  offset = Date.parse(fresh.body.dataset.now) - Date.now();
  const links = [document, fresh].map((one) => one.querySelector("header nav"));
  if (links[0].innerHTML !== links[1].innerHTML) links[0].innerHTML = links[1].innerHTML;
  const summary = fresh.getElementById("announce").dataset.text;
  const element = byId("announce");
  if (element.dataset.text !== summary && Date.now() - announced > 30000) {
    announced = Date.now();
    element.dataset.text = element.textContent = summary;
  }
  addButtons();
  showTimes();
}

async function update(atOnce) {
  stale = false;
  if (running) running.abort();
  const mine = (running = new AbortController());
  const url = location.pathname + location.search;
  try {
    const answer = await fetch(url, { headers: { Accept: "text/html" }, cache: "no-store", signal: mine.signal });
    if (answer.status === 401 || answer.status === 404) return location.reload();
    if (!answer.ok) throw new Error(`the server answered ${answer.status}`);
    const text = await answer.text();
    if (mine !== running) return;
    lastUpdate = Date.now();
    apply(new DOMParser().parseFromString(text, "text/html"), atOnce);
  } catch (error) {
    if (error.name !== "AbortError") stale = true; // the stream says when the server is back
  } finally {
    if (mine === running) running = null;
  }
}

function updateSoon() {
  stale = true;
  if (document.hidden || timer || paused) return;
  timer = setTimeout(() => {
    timer = 0;
    if (stale && !document.hidden && !paused) update(false);
  }, Math.max(0, PAUSE - (Date.now() - lastUpdate)));
}

// The connection

function show() {
  const element = byId("connection");
  const isLost = Date.now() - heard > SILENCE;
  element.hidden = false;
  element.classList.toggle("off", isLost || paused);
  element.textContent = paused ? "Paused" : isLost ? "Lost" : "Live";
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
  if (data && data.number !== undefined && String(data.number) !== document.body.dataset.snapshot) updateSoon();
  for (const [cluster, when] of Object.entries((data && data.read) || {})) {
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
    update(true);
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
    if (!button) return;
    const label = button.textContent;
    button.textContent = "Copied";
    setTimeout(() => (button.textContent = label), 1500);
  }, () => {});
}

function button(label, text) {
  const element = document.createElement("button");
  element.className = "copy";
  element.type = "button";
  element.textContent = label;
  element.addEventListener("click", () => copy(text(), element));
  return element;
}

function addButtons() {
  for (const part of document.querySelectorAll(".next:not(:has(.copy))")) {
    const line = document.querySelector(".verdict-line");
    part.lastElementChild.append(button("Copy", () => part.dataset.next));
    part.lastElementChild.append(button("Copy for chat", () => [
      document.querySelector("h1").textContent.trim(),
      line ? line.innerText.replace(/\s+/g, " ").trim() : "",
      `Next: ${part.dataset.next}`,
      location.href,
    ].join("\n")));
  }
}

function move(step) {
  const rows = [...document.querySelectorAll(".rows tbody > tr")];
  if (!rows.length) return;
  const at = rows.findIndex((row) => row.classList.contains("at"));
  const next = rows[Math.min(rows.length - 1, Math.max(0, at + step))];
  for (const row of rows) row.classList.toggle("at", row === next);
  next.querySelector("th a, a").focus({ preventScroll: true });
  next.scrollIntoView({ block: "nearest" });
}

const KEYS = {
  "/": () => byId("search")?.focus(),
  j: () => move(1),
  k: () => move(-1),
  c: () => copy((document.querySelector("tr.at") || document.querySelector("[data-next]"))?.dataset.next || ""),
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

remember(document);
showTimes();
addButtons();
setInterval(() => {
  show();
  showTimes();
}, 5000);
filter();
keys();
connect();
byId("printed").textContent = `${location.href}, ${document.body.dataset.now}`;
document.addEventListener("visibilitychange", () => {
  if (!document.hidden && stale) updateSoon();
});
document.addEventListener("click", (event) => {
  if (event.target.matches("time") && !event.target.closest("a")) KEYS.t();
});
addEventListener("pageshow", (event) => {
  if (event.persisted) location.reload();
});
