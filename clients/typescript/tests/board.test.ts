// The board of docs/client.md in a real browser.

import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { test } from "node:test";
import { all, PACKAGE, PASSWORD, Server, standIn, until } from "./support.js";
import { installed, Page } from "./chromium.js";

const program = installed();
/** The address of the server in the example. */
const DOCUMENTED = "http://127.0.0.1:8080";

test("the board shows posts, likes, search results, the member and live notices", {
    skip: program === undefined ? "Chromium is not installed" : false,
}, async () => {
    const server = await Server.start();
    const files = await standIn(async (request, response) => {
        const type = request.url?.endsWith(".js") === true ? "text/javascript" : "text/html";
        const text = await readFile(PACKAGE + request.url).then((file) => file.toString("utf8"), () => undefined);
        response.writeHead(text === undefined ? 404 : 200, { "Content-Type": type });
        response.end(text?.replace(DOCUMENTED, server.url));
    });
    const boss = await server.admin();
    await server.member("ann");
    const titles = ["An eclipse over the lake", "Road works"];
    await boss.importPosts(titles.map((title, n) => ({ title, url: `https://news.example.org/${n}` })));
    await until(async () => (await all(boss.popularPosts())).length === 2);

    const page = await Page.open(String(program), `${files.url}/examples/board.html`);
    try {
        const posts = async () => String(await page.run("document.querySelector('#posts')?.innerText ?? ''"));
        const message = async () => String(await page.run("document.querySelector('#message')?.innerText ?? ''"));
        await until(async () => (await posts()).includes("♥ 0"));
        for (const title of titles) {
            assert.ok((await posts()).includes(title));
        }

        // A guest who likes a post is asked to sign in.
        await page.run("document.querySelector('#posts button').click()");
        await until(async () => (await message()).includes("sign in"));
        await page.run(`
            const form = document.querySelector("#sign-in");
            [form.elements.id.value, form.elements.pw.value] = ["ann", "${PASSWORD}"];
            form.requestSubmit();
        `);
        await until(async () => (await message()) === "Welcome, ann");
        await page.run("document.querySelector('#posts button').click()");
        await until(async () => (await posts()).includes("♥ 1"));

        await page.run(`
            document.querySelector("#search input").value = "eclipse";
            document.querySelector("#search").requestSubmit();
        `);
        await until(async () => !(await posts()).includes("Road works"));
        assert.ok((await posts()).includes("An eclipse over the lake"));

        await boss.insertNotice({ title: "Library", post: "Open until ten." });
        const notices = async () => await page.run("document.querySelector('#notices').innerText");
        await until(async () => (await notices()) === "Library: Open until ten.");
        assert.deepEqual(page.log, []);
    } finally {
        await page.close();
        files.stop();
        await server.stop();
    }
});
