// Keeps a page of gitops-connect up to date. The page works without this script.
//
// The server says that something has changed (server-sent events). The script then reads the page again, and replaces
// the parts that differ: each element with `data-live`, and in a list with `data-rows` each row. Focus, scroll position,
// filter and open details remain.
"use strict";

const PAUSE = 1000; // milliseconds between two updates
const TYPING = 200; // milliseconds after the last key until the filter is applied
const UNITS = [["day", 86400], ["hour", 3600], ["minute", 60], ["second", 1]];
const ages = new Intl.RelativeTimeFormat("en", { numeric: "always", style: "narrow" });
const sources = new WeakMap(); // the markup of each live part and each row, as the server has sent it

let stale = false;
let running = null;
let lastUpdate = 0;
let timer = 0;

document.documentElement.classList.add("script");

function remember(root) {
  for (const part of root.querySelectorAll("[data-live], [data-rows] tbody > tr")) sources.set(part, part.outerHTML);
}

function age(seconds) {
  const size = Math.abs(seconds);
  const [unit, length] = UNITS.find(([, each]) => size >= each) || UNITS[3];
  return size < 2 ? "now" : ages.format(-Math.trunc(seconds / length), unit);
}

function showAges() {
  for (const time of document.querySelectorAll("time")) {
    if (!time.title) time.title = time.textContent;
    const text = age((Date.now() - Date.parse(time.dateTime)) / 1000);
    if (time.textContent !== text) time.textContent = text;
  }
}

function replaceRows(body, fresh) {
  const before = new Map([...body.rows].map((row) => [row.id, row]));
  let place = body.firstElementChild;
  for (const row of [...fresh.rows]) {
    const known = before.get(row.id);
    const html = row.outerHTML;
    before.delete(row.id);
    if (known && sources.get(known) === html) {
      if (known === place) place = place.nextElementSibling;
      else body.insertBefore(known, place);
      continue;
    }
    sources.set(row, html);
    if (known === place && place) place = place.nextElementSibling;
    if (known) row.classList.add("changed");
    body.insertBefore(row, known || place);
    if (known) keepFocus(known, () => known.remove(), () => row);
  }
  for (const row of before.values()) row.remove();
}

// Calls `change`. If the focus was in `old`, it moves to the same element of the new part.
function keepFocus(old, change, next) {
  const active = document.activeElement;
  const index = old.contains(active) ? [...old.querySelectorAll("*")].indexOf(active) : -1;
  const key = active && active.id;
  change();
  if (index < 0) return;
  const part = next();
  const target = (key && document.getElementById(key)) || [...part.querySelectorAll("*")][index];
  if (target) target.focus({ preventScroll: true });
}

function replacePart(part, fresh) {
  const html = fresh.outerHTML;
  if (sources.get(part) === html) return;
  const body = part.querySelector("tbody");
  const freshBody = fresh.querySelector("tbody");
  if (part.hasAttribute("data-rows") && body && freshBody) {
    const count = part.querySelector("#shown");
    const freshCount = fresh.querySelector("#shown");
    if (count && freshCount && count.textContent !== freshCount.textContent) count.textContent = freshCount.textContent;
    replaceRows(body, freshBody);
    sources.set(part, html);
    return;
  }
  const scrolled = [...part.querySelectorAll(".terminal, .sheet")].map((one) => [one.scrollLeft, one.scrollTop]);
  remember(fresh);
  sources.set(fresh, html);
  keepFocus(part, () => part.replaceWith(fresh), () => fresh);
  [...fresh.querySelectorAll(".terminal, .sheet")].forEach((one, index) => {
    if (scrolled[index]) [one.scrollLeft, one.scrollTop] = scrolled[index];
  });
}

function apply(fresh) {
  for (const part of document.querySelectorAll("[data-live]")) {
    const other = fresh.getElementById(part.id);
    if (other) replacePart(part, other);
  }
  document.body.dataset.snapshot = fresh.body.dataset.snapshot;
  const links = [document, fresh].map((one) => one.querySelector("header nav"));
  if (links[0].innerHTML !== links[1].innerHTML) links[0].innerHTML = links[1].innerHTML;
  const clear = [document, fresh].map((one) => one.querySelector("#filter .clear"));
  if (clear[0] && !clear[1]) clear[0].remove();
  if (!clear[0] && clear[1]) document.querySelector("#filter").append(clear[1]);
  const announced = document.getElementById("announce");
  const summary = fresh.getElementById("announce").dataset.text;
  if (announced.dataset.text !== summary) {
    announced.dataset.text = summary;
    announced.textContent = summary;
  }
  showAges();
}

async function update() {
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
    apply(new DOMParser().parseFromString(text, "text/html"));
  } catch (error) {
    if (error.name !== "AbortError") show(false);
  } finally {
    if (mine === running) running = null;
  }
}

function updateSoon() {
  stale = true;
  if (document.hidden || timer) return;
  timer = setTimeout(() => {
    timer = 0;
    if (stale && !document.hidden) update();
  }, Math.max(0, PAUSE - (Date.now() - lastUpdate)));
}

function show(connected) {
  const element = document.getElementById("connection");
  element.hidden = false;
  element.classList.toggle("off", !connected);
  element.textContent = connected ? "Live" : "Reconnecting";
}

function connect() {
  const stream = new EventSource("/events");
  stream.addEventListener("change", (event) => {
    show(true);
    if (event.data !== document.body.dataset.snapshot) updateSoon();
  });
  stream.addEventListener("error", () => {
    show(false);
    if (stream.readyState === EventSource.CLOSED) setTimeout(connect, 5000);
  });
  addEventListener("pagehide", () => stream.close(), { once: true });
}

function filter() {
  const form = document.getElementById("filter");
  if (!form) return;
  const search = document.getElementById("search");
  let typing = 0;
  const go = () => {
    const query = new URLSearchParams([...new FormData(form)].filter(([, value]) => value)).toString();
    history.replaceState(null, "", form.getAttribute("action") + (query ? `?${query}` : ""));
    update();
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
  addEventListener("keydown", (event) => {
    const writes = event.target.matches("input, select, textarea");
    if (event.key === "/" && !writes && !event.ctrlKey && !event.metaKey && !event.altKey) {
      event.preventDefault();
      search.focus();
    }
  });
}

remember(document);
showAges();
setInterval(showAges, 10000);
filter();
connect();
document.addEventListener("visibilitychange", () => {
  if (!document.hidden && stale) updateSoon();
});
addEventListener("pageshow", (event) => {
  if (event.persisted) location.reload();
});
