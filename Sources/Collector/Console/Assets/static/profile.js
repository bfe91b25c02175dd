// Checks a profile while it is edited: the collector gets the form as its button Check sends it, and the part of its
// answer that tells what it thinks replaces the one on the page.
"use strict";

{
    const form = document.getElementById("profile-form");
    let timer, latest = 0;
    form.addEventListener("input", () => {
        clearTimeout(timer);
        timer = setTimeout(check, 400);
    });

    async function check() {
        const turn = ++latest;
        const fields = new URLSearchParams(new FormData(form));
        fields.set("action", "validate");
        const response = await fetch(location.href, { method: "POST", body: fields });
        const next = new DOMParser().parseFromString(await response.text(), "text/html");
        if (turn !== latest) return;
        const fresh = next.getElementById("check");
        if (!fresh) return;
        document.getElementById("check").replaceWith(document.adoptNode(fresh));
        for (const field of form.querySelectorAll("[name]")) {
            const isInvalid = next.getElementById(field.id)?.getAttribute("aria-invalid") === "true";
            if (isInvalid) field.setAttribute("aria-invalid", "true"); else field.removeAttribute("aria-invalid");
        }
    }
}
