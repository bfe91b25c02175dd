// Improves the console's pages. Each part finds its elements by itself, and a page works without all of them.
"use strict";

const base = document.body.dataset.base || "";

// Sign-in by link: a code of one use stands behind the #, which browsers send to nobody. Over another session it asks.
const signIn = document.getElementById("sign-in");
function signInByLink() {
    if (location.hash.length < 2) return;
    signIn.elements.code.value = location.hash.slice(1);
    history.replaceState(null, "", location.pathname + location.search);
    for (const part of [signIn.elements.token, ...signIn.elements.token.labels]) part.hidden = true;
    signIn.elements.token.required = false;
    document.getElementById("from-link").hidden = false;
    if (document.getElementById("present")) signIn.querySelector("button").focus(); else signIn.requestSubmit();
}
if (signIn) {
    signInByLink();
    addEventListener("hashchange", signInByLink);
}

// Times: UTC as the server wrote them, or local. The choice is kept in this browser.
const zone = document.getElementById("zone");
function showTimes(root = document) {
    const isLocal = localStorage.getItem("zone") === "local";
    for (const time of root.querySelectorAll("time[datetime]")) {
        const date = new Date(time.dateTime);
        if (Number.isNaN(date.getTime())) continue;
        time.dataset.utc ??= time.textContent;
        const fraction = time.dataset.utc.match(/\.\d+/)?.[0] ?? "";
        time.textContent = isLocal ? localText(date) + fraction : time.dataset.utc;
        time.title = isLocal ? time.dataset.utc : `${localText(date)} local time`;
    }
    if (zone) zone.textContent = isLocal ? "Local time" : "UTC";
}
function localText(date) {
    const two = (number) => String(number).padStart(2, "0");
    return `${date.getFullYear()}-${two(date.getMonth() + 1)}-${two(date.getDate())} `
        + `${two(date.getHours())}:${two(date.getMinutes())}:${two(date.getSeconds())}`;
}
if (zone) {
    zone.hidden = false;
    zone.addEventListener("click", () => {
        localStorage.setItem("zone", localStorage.getItem("zone") === "local" ? "utc" : "local");
        showTimes();
        document.dispatchEvent(new Event("zonechange"));
    });
}
showTimes();

// A long text scrolls in its place. Without a mouse it needs the focus for that.
function reachLongTexts(root = document) {
    for (const text of root.querySelectorAll(".long")) {
        if (text.scrollHeight > text.clientHeight + 1 && getComputedStyle(text).overflowY === "auto") text.tabIndex = 0;
    }
}
reachLongTexts();
document.addEventListener("fresh", (event) => reachLongTexts(event.detail));

// Keys.
const help = document.getElementById("help");
document.getElementById("help-button")?.addEventListener("click", () => help.showModal());
if (help) document.getElementById("help-button").hidden = false;
let afterG = false;
const ways = { h: "/", d: "/devices", l: "/logs", n: "/notices" };
document.addEventListener("keydown", (event) => {
    const isTyping = event.target.closest("input, textarea, select, [contenteditable]");
    if (isTyping || event.ctrlKey || event.metaKey || event.altKey || help?.open) return;
    if (afterG && ways[event.key]) location.href = base + ways[event.key];
    afterG = event.key === "g";
    const search = document.getElementById("search");
    if (event.key === "/" && search) { event.preventDefault(); search.focus(); }
    if (event.key === "?" && help) { event.preventDefault(); help.showModal(); }
});

// A click copies a command.
for (const element of document.querySelectorAll(".copy")) {
    if (!navigator.clipboard) break;
    const button = document.createElement("button");
    button.type = "button";
    button.textContent = "Copy";
    button.addEventListener("click", async () => {
        await navigator.clipboard.writeText(element.textContent);
        button.textContent = "Copied";
    });
    element.after(button);
}

// A form that was sent is not sent again by a second click.
document.addEventListener("submit", (event) => {
    const form = event.target;
    if (form.method !== "post") return;
    if (form.dataset.sent) { event.preventDefault(); return; }
    form.dataset.sent = "yes";
    setTimeout(() => delete form.dataset.sent, 2000);
});

// A checkbox for all of a list.
for (const all of document.querySelectorAll("input[data-all]")) {
    all.hidden = false;
    all.addEventListener("change", () => {
        for (const box of document.querySelectorAll(`input[name="${all.dataset.all}"]`)) box.checked = all.checked;
    });
}

// Filters apply when a choice is made.
for (const select of document.querySelectorAll("form.filters select")) {
    select.addEventListener("change", () => select.form.requestSubmit());
}

// Search while typing: the list is replaced by that of the page with the new text.
for (const input of document.querySelectorAll("input[data-instant]")) {
    let timer, latest = 0;
    input.addEventListener("input", () => {
        clearTimeout(timer);
        timer = setTimeout(async () => {
            const turn = ++latest;
            const query = new URLSearchParams(new FormData(input.form));
            const address = `${input.form.action.split("?")[0]}?${query}`;
            const next = await load(address);
            if (next && turn === latest) {
                replace(next, input.dataset.instant);
                history.replaceState(null, "", address);
            }
        }, 150);
    });
}
async function load(address) {
    const response = await fetch(address, { headers: { Accept: "text/html" } });
    if (!response.ok || response.redirected) return null;
    return new DOMParser().parseFromString(await response.text(), "text/html");
}
function replace(next, selector) {
    for (const old of document.querySelectorAll(selector)) {
        const fresh = old.id ? next.getElementById(old.id) : next.querySelector(selector);
        if (!fresh || old.contains(document.activeElement) && document.activeElement !== document.body) continue;
        keepOpen(old, fresh);
        old.replaceWith(document.adoptNode(fresh));
        showTimes(fresh);
        document.dispatchEvent(new CustomEvent("fresh", { detail: fresh }));
    }
}
// What somebody has opened stays open.
function keepOpen(old, fresh) {
    const title = (details) => details.querySelector("summary").textContent;
    for (const open of old.querySelectorAll("details[open]")) {
        const same = [...fresh.querySelectorAll("details")].filter((details) => title(details) === title(open));
        if (same.length === 1) same[0].open = true;
    }
}

// What lives: the server says when something has changed, and the parts marked so are loaded again.
const living = document.querySelectorAll("[data-live]");
if (living.length) {
    const topics = [...new Set([...living].map((element) => element.dataset.live))].join(",");
    const source = new EventSource(`${base}/live?topics=${encodeURIComponent(topics)}`);
    let isLoading = false, isDue = false;
    const pause = (milliseconds) => new Promise((resolve) => setTimeout(resolve, milliseconds));
    async function refresh(delay = 0) {
        if (isLoading || document.hidden) { isDue = true; return; }
        isLoading = true;
        await pause(delay);
        isDue = false;
        const next = await load(location.href).catch(() => null);
        if (next) replace(next, "[data-live]"); else isDue = true;
        await pause(next ? 2000 : 10_000);
        isLoading = false;
        if (isDue) refresh();
    }
    // Everybody who looks is told in the same second, so the pages load a little apart.
    source.addEventListener("change", () => refresh(Math.random() * 1000));
    // What changed before the stream was there, or while it was interrupted, nobody tells.
    source.addEventListener("open", () => refresh());
    document.addEventListener("visibilitychange", () => { if (isDue) refresh(); });
    addEventListener("pagehide", () => source.close());
}

// Tables that are filled in: a button for one more row.
for (const table of document.querySelectorAll("table[data-rows]")) {
    const button = document.createElement("button");
    button.type = "button";
    button.textContent = "Add a row";
    button.addEventListener("click", () => {
        const rows = table.tBodies[0].rows;
        const row = rows[rows.length - 1].cloneNode(true);
        for (const field of row.querySelectorAll("input, textarea, select, [id]")) {
            if (field.type === "checkbox") field.checked = false; else if (field.tagName !== "SPAN") field.value = "";
            // In a list that numbers its rows.
            for (const key of ["name", "id"]) if (field[key]) field[key] = field[key].replace(/\.\d+\./, `.${rows.length}.`);
        }
        table.tBodies[0].append(row);
        row.querySelector("input, textarea").focus();
    });
    table.closest(".scroll").after(button);
}

// A page that answers a form has an address of its own, to load its live parts from.
{
    const own = document.querySelector("[data-address]");
    if (own) history.replaceState(null, "", own.dataset.address);
}
