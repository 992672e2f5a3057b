// The page of docs/accounts.md, and the server's own pages for the codes of mail, in a real browser.

import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { test } from "node:test";
import { attempt } from "tidings-client";
import { installed, Page } from "./chromium.js";
import { PACKAGE, PASSWORD, Server, standIn, until } from "./support.js";

const program = installed();
const skip = program === undefined ? "Chromium is not installed" : false;
/** The address of the server in the example. */
const DOCUMENTED = "http://127.0.0.1:8080";
const NEW = "battery staple";

/** Fills in a form, and submits it. */
async function submit(page: Page, form: string, fields: Record<string, string>): Promise<void> {
    await page.run(`{
        const form = document.querySelector("${form}");
        for (const [name, value] of Object.entries(${JSON.stringify(fields)})) form.elements[name].value = value;
        form.requestSubmit();
    }`);
}

test("a member signs up, confirms an address, forgets the password and chooses another one", { skip }, async () => {
    const server = await Server.start("--smtp-url", "smtp+plain://127.0.0.1:9", "--mail-from", "no-reply@campus.example");
    const files = await standIn(async (request, response) => {
        const path = request.url?.startsWith("/account/") ? "/examples/account.html" : (request.url ?? "");
        const text = await readFile(PACKAGE + path).then((file) => file.toString("utf8"), () => undefined);
        const type = path.endsWith(".js") ? "text/javascript" : "text/html";
        response.writeHead(text === undefined ? 404 : 200, { "Content-Type": type });
        response.end(text?.replace(DOCUMENTED, server.url));
    });
    const boss = await server.admin();
    const page = await Page.open(String(program), `${files.url}/examples/account.html`);
    const message = async () => String(await page.run("document.querySelector('#message')?.textContent ?? ''"));
    // A form's own name is behind its field of that name.
    const ids = "[...document.forms].filter((form) => !form.hidden).map((form) => form.getAttribute('id')).join()";
    const shown = async () => String(await page.run(ids));
    try {
        await until(async () => (await shown()) === "sign-up,sign-in,forgotten");
        await submit(page, "#sign-up", { id: "ann", nickname: "Ann", pw: PASSWORD, email: "ann@example.org" });
        await until(async () => (await message()) === "Welcome, Ann");
        await until(async () => (await shown()) === "confirm,sign-out");
        await submit(page, "#confirm", { code: "123456" });
        await until(async () => (await message()).includes("code"));
        await submit(page, "#sign-out", {});
        await until(async () => (await shown()) === "sign-up,sign-in,forgotten");
        await submit(page, "#forgotten", { id: "ann" });
        await until(async () => (await shown()) === "reset");
        const { code } = await boss.issuePwReset({ user_id: "ann" });
        await page.run(`location.replace("/account/password#${code}")`);
        await until(async () => (await page.run("document.querySelector('#reset')?.elements.code.value")) === code);
        await submit(page, "#reset", { new_pw: NEW });
        await until(async () => (await shown()) === "sign-in");
        await submit(page, "#sign-in", { id: "ann", pw: NEW });
        await until(async () => (await message()) === "Welcome, Ann");
        assert.deepEqual(page.log, []);
    } finally {
        await page.close();
        files.stop();
        await server.stop();
    }
});

test("the server's page takes the code of a link, and forgets it", { skip }, async () => {
    const server = await Server.start();
    const boss = await server.admin();
    const ann = await server.member("ann");
    const { code } = await boss.issuePwReset({ user_id: "ann" });
    const page = await Page.open(String(program), `${server.url}/account/password#${code}`);
    const status = async () => String(await page.run("document.querySelector('[role=status]')?.textContent ?? ''"));
    try {
        await until(async () => (await page.run("document.querySelector('form')?.elements.code.value")) === code);
        assert.equal(await page.run("location.hash"), "");
        await submit(page, "form", { new_pw: NEW, new_pw_check: "another" });
        await until(async () => (await status()) === "The two passwords differ.");
        await submit(page, "form", { new_pw_check: NEW });
        await until(async () => (await status()).startsWith("You have a new password"));
        assert.equal(await page.run("document.querySelector('form').hidden"), true);
        assert.equal((await attempt(ann.signIn({ id: "ann", pw: NEW }))).result, "success");
        assert.deepEqual(page.log, []);
    } finally {
        await page.close();
        await server.stop();
    }
});
