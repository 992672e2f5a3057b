// Starts the real program, and servers that answer as a test wants.

import { type ChildProcess, execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { type Settings, Tidings } from "tidings-client";

/** The directory of the package. */
export const PACKAGE = fileURLToPath(new URL("..", import.meta.url));
/** The program: that of the variable TIDINGS, or else the one that `cargo build` makes. */
const PROGRAM = process.env["TIDINGS"] ?? join(PACKAGE, "../../target/debug/tidings");
/** The password of all members. */
export const PASSWORD = "correct horse";

/** Runs the program, and returns what it prints. */
export function run(args: string[], input = ""): string {
    return execFileSync(PROGRAM, args, { input, encoding: "utf8", maxBuffer: 1 << 26, env: environment() });
}

/** Returns the environment without the user's settings of the program. */
function environment(): NodeJS.ProcessEnv {
    const entries = Object.entries(process.env).filter(([name]) => !name.startsWith("TIDINGS"));
    return Object.fromEntries(entries);
}

/** A running server with a new database. */
export class Server {
    readonly #directory: string;
    readonly #flags: string[];
    #process: ChildProcess | undefined;
    #port = 0;

    private constructor(directory: string, flags: string[]) {
        this.#directory = directory;
        this.#flags = flags;
    }

    /** Starts a server with these flags. */
    static async start(...flags: string[]): Promise<Server> {
        const server = new Server(await mkdtemp(join(tmpdir(), "tidings-client-")), flags);
        await server.resume();
        return server;
    }

    /** Starts the server again after `pause`, on the same port. */
    async resume(): Promise<void> {
        const args = ["--db", this.#database, "serve", "--listen", `127.0.0.1:${this.#port}`, ...this.#flags];
        const child = spawn(PROGRAM, args, { stdio: ["ignore", "pipe", "ignore"], env: environment() });
        this.#process = child;
        const lines = createInterface({ input: child.stdout });
        const [ready] = (await once(lines, "line")) as [string];
        this.#port = Number(/^listening on http:\/\/127\.0\.0\.1:(\d+)$/.exec(ready)?.[1]);
    }

    /** Stops the process; the database stays. */
    async pause(): Promise<void> {
        const child = this.#process;
        this.#process = undefined;
        if (child !== undefined && child.exitCode === null) {
            child.kill("SIGKILL");
            await once(child, "exit");
        }
    }

    /** Stops the server and removes its database. */
    async stop(): Promise<void> {
        await this.pause();
        await rm(this.#directory, { recursive: true, force: true });
    }

    get url(): string {
        return `http://127.0.0.1:${this.#port}`;
    }

    get #database(): string {
        return join(this.#directory, "tidings.db");
    }

    /** Returns a client without a token. */
    client(settings: Partial<Settings> = {}): Tidings {
        return new Tidings({ url: this.url, ...settings });
    }

    /** Returns the client of a new member. */
    async member(id: string, settings: Partial<Settings> = {}): Promise<Tidings> {
        const client = this.client(settings);
        await client.signUp({ id, pw: PASSWORD, pw_check: PASSWORD, nickname: id });
        return client;
    }

    /** Returns the client of a new administrator. */
    async admin(id = "boss"): Promise<Tidings> {
        const client = await this.member(id);
        run(["--db", this.#database, "admin", "grant", id]);
        return client;
    }
}

/** What a test answers to a request. */
export type Respond = (request: IncomingMessage, response: ServerResponse, body: string) => void;

/** Starts an HTTP server that answers as `respond` does, and counts the requests. */
export async function standIn(respond: Respond): Promise<StandIn> {
    const requests: string[] = [];
    const server = createServer((request, response) => {
        let body = "";
        request.setEncoding("utf8");
        request.on("data", (part: string) => (body += part));
        request.on("end", () => {
            requests.push(`${request.method} ${request.url}`);
            respond(request, response, body);
        });
    });
    server.listen(0, "127.0.0.1");
    await once(server, "listening");
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    const stop = () => {
        server.closeAllConnections();
        server.close();
    };
    return { url, requests, stop };
}

/** A server that a test answers for. */
export interface StandIn {
    readonly url: string;
    /** The requests so far: their methods and paths. */
    readonly requests: string[];
    readonly stop: () => void;
}

/** Answers with JSON. */
export function json(response: ServerResponse, status: number, body: unknown, headers: Record<string, string> = {}): void {
    response.writeHead(status, { "Content-Type": "application/json", ...headers });
    response.end(JSON.stringify(body));
}

/** The answer of a busy server. */
export const OVERLOADED = { result: "overloaded", code: "overloaded", message: "the service is busy" };

/** Waits until a condition holds. */
export async function until(holds: () => boolean | Promise<boolean>): Promise<void> {
    for (const end = Date.now() + 60_000; !(await holds()); ) {
        if (Date.now() > end) {
            throw new Error("the condition does not hold within a minute");
        }
        await new Promise((resolve) => setTimeout(resolve, 20));
    }
}

/** Returns the values of an iterator. */
export async function all<T>(values: AsyncIterable<T>): Promise<T[]> {
    const list: T[] = [];
    for await (const value of values) {
        list.push(value);
    }
    return list;
}
