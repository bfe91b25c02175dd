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

// What is wrong with the collector, as the server wrote it.
const troubles = document.getElementById("troubles");
let shownTroubles = troubles?.innerHTML;

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
            const { page: next, fault } = await load(address);
            say(fault);
            if (next && turn === latest) {
                replace(next, input.dataset.instant);
                history.replaceState(null, "", address);
            }
        }, 150);
    });
}
// A page, or the reason why there is none: the session has "ended", the collector is "lost", or it "answered 404".
async function load(address) {
    try {
        const response = await fetch(address, { headers: { Accept: "text/html" } });
        if (response.redirected && new URL(response.url).pathname === `${base}/sign-in`) return { fault: "ended" };
        if (!response.ok) return { fault: `answered ${response.status}` };
        if (response.redirected) return {};
        return { page: new DOMParser().parseFromString(await response.text(), "text/html") };
    } catch { return { fault: "lost" }; }
}

// The time at which what is shown was made, by the collector's clock, and how long ago that is.
const shown = { time: document.body.dataset.now, since: performance.now() };
const shownParts = new WeakMap();
function clockText({ time: text }) {
    const time = new Date(text);
    if (localStorage.getItem("zone") === "local") return `${localText(time).slice(11)} local time`;
    return `${time.toISOString().slice(11, 19)} UTC`;
}
function ageText({ since }) {
    const seconds = Math.round((performance.now() - since) / 1000);
    return seconds < 120 ? `${seconds} s ago` : `${Math.floor(seconds / 60)} min ago`;
}

// A bar that says why a page does not follow any more what happens.
const faultBar = document.createElement("div");
faultBar.id = "fault";
faultBar.setAttribute("role", "status");
document.getElementById("main")?.prepend(faultBar);
let isLeaving = false;
addEventListener("beforeunload", () => { isLeaving = true; setTimeout(() => { isLeaving = false; }, 5000); });
function say(fault) {
    // Whoever follows a link ends what is being loaded.
    if (isLeaving && fault === "lost") return;
    if ((faultBar.dataset.fault ?? "") === (fault ?? "")) return;
    if (!fault) { delete faultBar.dataset.fault; faultBar.replaceChildren(); return; }
    faultBar.dataset.fault = fault;
    const note = document.createElement("p");
    note.className = `note ${fault === "ended" ? "bad" : "warn"}`;
    const asOf = ` What is shown is as of ${clockText(shown)}.`;
    const what = { ended: "Your session has ended.", lost: "The collector cannot be reached." }[fault];
    note.textContent = `${what ?? `The collector ${fault}.`}${asOf} `;
    if (fault === "ended") {
        const link = document.createElement("a");
        const next = location.pathname.slice(base.length) + location.search;
        link.href = `${base}/sign-in?${new URLSearchParams({ next })}`;
        link.textContent = "Sign in";
        note.append(link);
    } else {
        note.append("The page tries again.");
    }
    faultBar.replaceChildren(note);
}
function replace(next, selector) {
    for (const old of document.querySelectorAll(selector)) {
        const fresh = old.id ? next.getElementById(old.id) : next.querySelector(selector);
        if (!fresh || old.contains(document.activeElement) && document.activeElement !== document.body) continue;
        keepOpen(old, fresh);
        old.replaceWith(document.adoptNode(fresh));
        shownParts.set(fresh, { ...shown });
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

// What lives: the server says when something has changed, and the parts marked so are loaded again. Each part says what
// it follows and how old it is.
const living = document.querySelectorAll("[data-live]");
if (living.length) {
    const topics = [...new Set([...living].flatMap((part) => part.dataset.live.split(",")))];
    const pause = (milliseconds) => new Promise((resolve) => setTimeout(resolve, milliseconds));
    const firstShown = { ...shown };
    let source, heard, isLoading = false, isDue = false;
    function tellAges() {
        for (const part of document.querySelectorAll("[data-live]")) {
            const names = new Set(part.dataset.live.split(",").map((topic) => topic.split(":")[0]));
            const made = shownParts.get(part) ?? firstShown;
            part.dataset.fresh = `Follows ${[...names].join(" and ")}. As of ${clockText(made)}, ${ageText(made)}.`;
        }
    }
    async function refresh(delay = 0) {
        if (isLoading || document.hidden) { isDue = true; return; }
        isLoading = true;
        await pause(delay);
        isDue = false;
        const { page, fault } = await load(location.href);
        if (page) {
            [shown.time, shown.since] = [page.body.dataset.now, performance.now()];
            replace(page, "[data-live]");
            const troublesNow = page.getElementById("troubles");
            if (troubles && troublesNow && troublesNow.innerHTML !== shownTroubles) {
                shownTroubles = troubles.innerHTML = troublesNow.innerHTML;
                showTimes(troubles);
            }
        } else {
            isDue = true;
        }
        say(fault);
        tellAges();
        await pause(page ? 2000 : 10_000);
        isLoading = false;
        if (isDue) refresh();
    }
    function hear() { heard = performance.now(); }
    function connect() {
        source?.close();
        hear();
        source = new EventSource(`${base}/live?topics=${encodeURIComponent(topics.join(","))}`);
        source.addEventListener("alive", hear);
        // Everybody who looks is told in the same second, so the pages load a little apart.
        source.addEventListener("change", () => { hear(); refresh(Math.random() * 1000); });
        // What changed before the stream was there, or while it was interrupted, nobody tells.
        source.addEventListener("open", () => { hear(); refresh(); });
        // The page finds out why: the collector has gone, or the session has ended.
        source.addEventListener("error", () => refresh(Math.random() * 1000));
    }
    connect();
    tellAges();
    setInterval(() => {
        // The collector sends something every ten seconds. A connection that was cut says nothing at all.
        const isSilent = performance.now() - heard > 25_000;
        if (isSilent) { connect(); refresh(); }
        if (!document.hidden) tellAges();
    }, 5000);
    addEventListener("offline", () => say("lost"));
    addEventListener("online", () => connect());
    document.addEventListener("zonechange", tellAges);
    document.addEventListener("visibilitychange", () => { if (isDue) refresh(); });
    addEventListener("pagehide", () => source.close());
    addEventListener("pageshow", (event) => { if (event.persisted) connect(); });
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
