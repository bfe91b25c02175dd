// The list of devices: what is selected stays selected when the list is loaded again, and a box selects the whole page.
"use strict";

{
    const chosen = new Set();
    const form = () => document.getElementById("device-action");
    const boxes = () => [...document.querySelectorAll('input[name="device"]')];
    const whole = () => document.querySelector("input[data-whole-page]");
    // What was set in the form, to set it again in a fresh one.
    let what = "", scope = "selected";

    function show() {
        const all = whole();
        if (!all) return;
        all.hidden = false;
        const here = boxes(), count = here.filter((box) => box.checked).length;
        all.checked = count > 0 && count === here.length;
        all.indeterminate = count > 0 && count < here.length;
        form().querySelector("[data-selected]").textContent = count ? `: ${count}` : "";
    }
    function read() {
        chosen.clear();
        for (const box of boxes()) if (box.checked) chosen.add(box.value);
        ({ what: { value: what }, scope: { value: scope } } = form().elements);
    }

    document.addEventListener("change", (event) => {
        if (!form()) return;
        if (event.target === whole()) for (const box of boxes()) box.checked = event.target.checked;
        read();
        show();
    });
    document.addEventListener("fresh", () => {
        if (!form()) return;
        for (const box of boxes()) box.checked = chosen.has(box.value);
        form().elements.what.value = what;
        form().elements.scope.value = scope;
        read();
        show();
    });
    // A browser that comes back to the page may have kept what was selected.
    addEventListener("pageshow", () => { if (form()) { read(); show(); } });
}
