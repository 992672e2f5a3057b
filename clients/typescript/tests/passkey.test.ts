// Passkeys in a real browser, with a virtual device.

import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { test } from "node:test";
import { installed, Page } from "./chromium.js";
import { PACKAGE, PASSWORD, Server, standIn, until } from "./support.js";

const program = installed();
const skip = program === undefined ? "Chromium is not installed" : false;

test("a member adds a passkey, signs in with it alone, and removes it", { skip }, async () => {
    const files = await standIn(async (request, response) => {
        const isScript = String(request.url).startsWith("/dist/");
        const file = isScript ? await readFile(PACKAGE + request.url, "utf8") : '<!doctype html><link rel="icon" href="data:,"><title>App</title>';
        response.writeHead(200, { "Content-Type": isScript ? "text/javascript" : "text/html" });
        response.end(file);
    });
    // Browsers treat this machine as secure, by this name.
    const origin = files.url.replace("127.0.0.1", "localhost");
    const server = await Server.start("--passkey-domain", "localhost");
    await server.member("ann");
    const page = await Page.open(String(program), `${origin}/`);
    const app = (code: string) => page.run(`(async () => {
        const { Tidings, attempt } = await import("/dist/index.js");
        const client = new Tidings({ url: ${JSON.stringify(server.url)}, token: sessionStorage.token, onToken: (token) => { sessionStorage.token = token ?? ""; } });
        const create = async () => {
            const { ceremony, options } = await client.beginPasskey({ pw: ${JSON.stringify(PASSWORD)} });
            const publicKey = PublicKeyCredential.parseCreationOptionsFromJSON(JSON.parse(options));
            const credential = JSON.stringify(await navigator.credentials.create({ publicKey }));
            return client.addPasskey({ ceremony, credential, name: "My phone" });
        };
        const get = async () => {
            const { ceremony, options } = await client.beginPasskeySignIn();
            const publicKey = PublicKeyCredential.parseRequestOptionsFromJSON(JSON.parse(options));
            const credential = JSON.stringify(await navigator.credentials.get({ publicKey }));
            return attempt(client.signInPasskey({ ceremony, credential }));
        };
        ${code}
    })()`);
    try {
        await until(async () => (await page.run("document.title")) === "App");
        await page.addDevice();
        await app(`
            await client.signIn({ id: "ann", pw: ${JSON.stringify(PASSWORD)} });
            await create();
        `);
        const signedIn = await app(`
            await get();
            const { passkeys } = await client.getPasskeys();
            return [(await client.getUserinfo()).user_id, passkeys[0].name, passkeys[0].last_used !== null];
        `);
        assert.deepEqual(signedIn, ["ann", "My phone", true]);
        const result = await app(`
            await get();
            await client.removePasskey({ passkey_obi: (await client.getPasskeys()).passkeys[0]._id });
            return (await get()).result;
        `);
        assert.equal(result, "incorrect code");
        assert.deepEqual(page.log, []);
    } finally {
        await page.close();
        files.stop();
        await server.stop();
    }
});
