// The report of a period in a real browser: as a file, and as the page of a server.

import assert from "node:assert/strict";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { pathToFileURL } from "node:url";
import { run, Server, until } from "./support.js";
import { installed, Page } from "./chromium.js";

const program = installed();
const skip = program === undefined ? "Chromium is not installed" : false;

/** Asserts that the page is drawn with its style, has no script and has loaded nothing. */
async function inert(page: Page): Promise<void> {
    await until(async () => (await page.run("document.readyState")) === "complete");
    const seen = await page.run(`({
        loaded: performance.getEntriesByType("resource").map((entry) => entry.name),
        active: document.querySelectorAll("script, img, link, iframe, object, [onerror], [onload]").length,
        tiles: getComputedStyle(document.querySelector(".tiles")).display,
        charts: [...document.querySelectorAll("svg[role=img]")].map((svg) => svg.getBoundingClientRect().width > 500),
        named: [...document.querySelectorAll("svg[role=img]")].every((svg) =>
            svg.getAttribute("aria-labelledby").split(" ").every((id) => svg.querySelector("#" + id).textContent !== "")),
        bars: [...document.querySelectorAll("rect.visitors")].filter((bar) => bar.getBoundingClientRect().height > 1).length > 1,
        wider: document.documentElement.scrollWidth > window.innerWidth,
    })`);
    const expected = { loaded: [], active: 0, tiles: "grid", charts: [true, true], named: true, bars: true, wider: false };
    assert.deepEqual(seen, expected);
    assert.deepEqual(page.log, []);
}

test("a report that is opened as a file has charts, no script and no request", { skip }, async () => {
    const directory = await mkdtemp(join(tmpdir(), "tidings-report-"));
    try {
        const [database, html] = [join(directory, "demo.db"), join(directory, "report.html")];
        run(["--db", database, "demo", "--members", "40", "--posts", "80", "--days", "8"]);
        const title = "<img src=x onerror=alert(1)></style><script>alert(2)</script>";
        run(["--db", database, "post", "add", "--title", title, "--url", "https://a.example/", "--topic", title]);
        run(["--db", database, "analysis", "report", "--html", html]);
        const page = await Page.open(String(program), pathToFileURL(html).href);
        try {
            await inert(page);
            const text = String(await page.run("document.querySelector('main').innerText"));
            assert.ok(text.includes("onerror=alert(1)"), text);
        } finally {
            await page.close();
        }
    } finally {
        await rm(directory, { recursive: true, force: true });
    }
});

test("the form of the page asks for another period, and its policy allows its style", { skip }, async () => {
    const server = await Server.start("--base-path", "/api");
    // Programs are no visitors.
    await fetch(`${server.url}/api/get_categories`, { headers: { "user-agent": "Mozilla/5.0 Firefox/141.0" } });
    const page = await Page.open(String(program), `${server.url}/api/reports`);
    try {
        await inert(page);
        await page.run(`
            document.querySelector("[name=from]").value = "2024-11-01";
            document.querySelector("[name=to]").value = "2024-11-03";
            document.querySelector("form").requestSubmit();
        `);
        const heading = async () => String(await page.run("document.querySelector('h1')?.innerText ?? ''"));
        await until(async () => (await heading()) === "1 November 2024 – 3 November 2024");
        assert.equal(await page.run("location.pathname + location.search"), "/api/reports?from=2024-11-01&to=2024-11-03");
        assert.equal(await page.run("document.querySelector('nav a').href"), `${server.url}/api/reports/days.csv?from=2024-11-01&to=2024-11-03`);
    } finally {
        await page.close();
        await server.stop();
    }
});
