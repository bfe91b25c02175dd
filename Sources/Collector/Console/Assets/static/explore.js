// Finds metrics in the list of all: each word must occur in a metric's name, description or module.
"use strict";
for (const label of document.querySelectorAll("label[data-filter]")) {
    const list = document.getElementById(label.dataset.filter);
    const input = label.querySelector("input");
    label.hidden = false;
    input.addEventListener("input", () => {
        const words = input.value.toLowerCase().split(/\s+/).filter(Boolean);
        for (const section of list.querySelectorAll("section")) {
            const module = section.getAttribute("aria-label").toLowerCase();
            const items = [...section.querySelectorAll("li")];
            for (const item of items) {
                const text = `${module} ${item.textContent.toLowerCase()}`;
                item.hidden = !words.every((word) => text.includes(word));
            }
            section.hidden = items.every((item) => item.hidden);
        }
    });
}
