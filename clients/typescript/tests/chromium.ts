// Controls headless Chromium through its debugging pipe.

import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Readable, Writable } from "node:stream";

const FLAGS = [
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-dev-shm-usage",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--remote-debugging-pipe",
];

/** Returns the name of the installed program; `undefined` if there is none. */
export function installed(): string | undefined {
    const names = ["chromium", "chromium-browser", "google-chrome"];
    return names.find((name) => spawnSync(name, ["--version"], { stdio: "ignore" }).status === 0);
}

type Message = Record<string, unknown>;

/** A page in a browser of its own. */
export class Page {
    /** What the page has written to its console, and its exceptions. */
    readonly log: string[] = [];
    readonly #browser: ChildProcess;
    readonly #directory: string;
    readonly #calls = new Map<number, (message: Message) => void>();
    #session: string | undefined;
    #rest = "";

    private constructor(browser: ChildProcess, directory: string) {
        this.#browser = browser;
        this.#directory = directory;
    }

    /** Opens a page. */
    static async open(program: string, address: string): Promise<Page> {
        const directory = await mkdtemp(join(tmpdir(), "tidings-chromium-"));
        const stdio = ["ignore", "ignore", "ignore", "pipe", "pipe"] as const;
        const browser = spawn(program, [...FLAGS, `--user-data-dir=${directory}`, "about:blank"], { stdio: [...stdio] });
        const page = new Page(browser, directory);
        (browser.stdio[4] as Readable).setEncoding("utf8").on("data", (text: string) => page.#read(text));
        const { targetId } = await page.#call("Target.createTarget", { url: "about:blank" });
        const { sessionId } = await page.#call("Target.attachToTarget", { targetId, flatten: true });
        page.#session = String(sessionId);
        await page.#call("Runtime.enable", {});
        await page.#call("Page.navigate", { url: address });
        return page;
    }

    /** Runs JavaScript in the page, and returns its value. */
    async run(expression: string): Promise<unknown> {
        const options = { expression, returnByValue: true, awaitPromise: true };
        const { result, exceptionDetails } = await this.#call("Runtime.evaluate", options);
        if (exceptionDetails !== undefined) {
            throw new Error(`${expression}: ${JSON.stringify(exceptionDetails)}`);
        }
        return (result as Message)["value"];
    }

    /** Gives the browser a device that makes passkeys, and whose user is always there. */
    async addDevice(): Promise<void> {
        const device = { protocol: "ctap2", transport: "internal", hasResidentKey: true };
        const user = { hasUserVerification: true, isUserVerified: true, automaticPresenceSimulation: true };
        await this.#call("WebAuthn.enable", {});
        await this.#call("WebAuthn.addVirtualAuthenticator", { options: { ...device, ...user } });
    }

    /** Closes the browser. */
    async close(): Promise<void> {
        this.#browser.kill("SIGKILL");
        await once(this.#browser, "exit");
        // Its helpers may write for another moment.
        await rm(this.#directory, { recursive: true, force: true, maxRetries: 20, retryDelay: 100 });
    }

    #call(method: string, params: Message): Promise<Message> {
        const id = this.#calls.size + 1;
        const session = this.#session === undefined ? {} : { sessionId: this.#session };
        const pipe = this.#browser.stdio[3] as Writable;
        pipe.write(`${JSON.stringify({ id, method, params, ...session })}\0`);
        return new Promise((resolve, reject) => {
            this.#calls.set(id, (message) => {
                const { result, error } = message as { result: Message; error?: unknown };
                error === undefined ? resolve(result) : reject(new Error(`${method}: ${JSON.stringify(error)}`));
            });
        });
    }

    #read(text: string): void {
        const messages = (this.#rest + text).split("\0");
        this.#rest = messages.pop() ?? "";
        for (const message of messages.map((message) => JSON.parse(message) as Message)) {
            if (typeof message["id"] === "number") {
                this.#calls.get(message["id"])?.(message);
            } else if (message["method"] === "Runtime.consoleAPICalled" || message["method"] === "Runtime.exceptionThrown") {
                this.log.push(JSON.stringify(message["params"]));
            }
        }
    }
}
