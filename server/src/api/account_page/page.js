// The code of a mail is after the # of the address, which no browser sends to a server.
const form = document.querySelector("form");
const status = document.querySelector("[role=status]");
const texts = JSON.parse(document.querySelector("#texts").textContent);
if (location.hash.length > 1) {
    form.elements.code.value = decodeURIComponent(location.hash.slice(1));
    history.replaceState(null, "", location.pathname);
}
form.addEventListener("submit", async (event) => {
    event.preventDefault();
    const button = form.querySelector("button");
    button.disabled = true;
    status.textContent = texts.wait;
    try {
        const response = await fetch(form.action, {
            method: "POST",
            headers: { "Content-Type": "application/json", Accept: "application/json" },
            body: JSON.stringify(Object.fromEntries(new FormData(form))),
        });
        const answer = await response.json();
        const done = answer.result === "success";
        status.textContent = done ? texts.success : (texts[answer.result] ?? answer.message ?? answer.result);
        form.hidden = done;
    } catch {
        status.textContent = texts.failed;
    }
    button.disabled = false;
});
