// Retries, time limits and aborts, at a server that answers as the test wants.

import assert from "node:assert/strict";
import { test } from "node:test";
import { attempt, ConnectionError, Tidings, TidingsError } from "tidings-client";
import { json, OVERLOADED, PASSWORD, type Respond, Server, standIn } from "./support.js";
import { backOff, waitBeforeRetry } from "../dist/retry.js";
import { retryAfter } from "../dist/errors.js";

const DONE = { result: "success" };
const LIMITED = { result: "too many requests", code: "too_many_requests", message: "try again in 1 s" };
const POST = { post_obi: "6b0039acd7c34f1e5b2e91a7" };

/** Runs a test with a server that answers each request with the next of these functions, then with the last one. */
async function answering(answers: Respond[], run: (client: Tidings, requests: string[]) => Promise<void>): Promise<void> {
    let next = 0;
    const server = await standIn((...args) => answers[Math.min(next++, answers.length - 1)]?.(...args));
    try {
        await run(new Tidings({ url: server.url, timeout: 10_000 }), server.requests);
    } finally {
        server.stop();
    }
}

const busy =
    (seconds = 0): Respond =>
    (_, response) =>
        json(response, 503, OVERLOADED, { "Retry-After": String(seconds) });
const done: Respond = (_, response) => json(response, 200, DONE);
const lost: Respond = (request) => request.socket.destroy();
const cut: Respond = (_, response) => {
    response.writeHead(200, { "Content-Type": "application/json", "Content-Length": "100" });
    response.write('{"result":', () => response.destroy());
};
const gateway: Respond = (_, response) => response.writeHead(503, { "Content-Type": "text/plain" }).end("no server");

test("a busy server is asked again when it says", async () => {
    await answering([busy(1), done], async (client, requests) => {
        const began = Date.now();
        assert.equal((await client.healthz()).result, "success");
        assert.ok(Date.now() - began >= 1_000);
        assert.equal(requests.length, 2);
    });
});

test("a write is sent again if the server says that it changed nothing", async () => {
    const limited: Respond = (_, response) => json(response, 429, LIMITED, { "Retry-After": "0" });
    await answering([busy(), limited, done], async (client, requests) => {
        await client.postLike(POST);
        assert.deepEqual(requests, Array(3).fill(`GET /post_like/${POST.post_obi}`));
    });
    await answering([busy(), done], async (client, requests) => {
        await client.sendFeedback({ post: "Hello" });
        assert.equal(requests.length, 2);
    });
});

test("a write whose outcome is unknown is not sent again", async () => {
    const writes: ((client: Tidings) => Promise<unknown>)[] = [
        (client) => client.postLike(POST),
        (client) => client.postView(POST),
        (client) => client.getNotice({ notice_obi: POST.post_obi }),
        (client) => client.sendFeedback({ post: "Hello" }),
        (client) => client.insertDevice({ device: "pc" }),
    ];
    for (const write of writes) {
        for (const failing of [lost, cut, gateway]) {
            await answering([failing, done], async (client, requests) => {
                await assert.rejects(write(client), ConnectionError);
                assert.equal(requests.length, 1);
            });
        }
    }
});

test("a read is sent again after a failure of the connection", async () => {
    for (const failing of [lost, cut, gateway]) {
        await answering([failing, failing, done], async (client, requests) => {
            await client.readyz();
            assert.equal(requests.length, 3);
        });
    }
    const found: Respond = (_, response) => json(response, 200, { result: "success", search_result: [] });
    await answering([lost, found], async (client, requests) => {
        await client.prioritySearch({ num: 1, search: "lake" });
        assert.equal(requests.length, 2);
    });
});

test("retries are bounded", async () => {
    await answering([busy()], async (client, requests) => {
        const answer = await attempt(client.healthz());
        assert.ok(answer.result === "overloaded" && answer.status === 503 && answer.retryAfter === 0);
        assert.equal(requests.length, 3);
        await assert.rejects(client.healthz({ retries: 0 }), TidingsError);
        assert.equal(requests.length, 4);
    });
});

test("a wait that is longer than the rest of the time is not begun", async () => {
    await answering([busy(60)], async (client, requests) => {
        const began = Date.now();
        await assert.rejects(client.healthz(), { retryAfter: 60 });
        assert.ok(Date.now() - began < 5_000);
        assert.equal(requests.length, 1);
    });
});

test("other failures are not sent again", async () => {
    const failed: Respond = (_, response) =>
        json(response, 500, { result: "internal error", code: "internal_error", message: "the service failed" });
    await answering([failed, done], async (client, requests) => {
        assert.equal((await attempt(client.healthz())).result, "internal error");
        assert.equal(requests.length, 1);
    });
});

test("an abort ends a request, and a wait before a retry", async () => {
    const reason = new Error("the page was left");
    const silent: Respond = () => {};
    for (const first of [silent, busy(8)]) {
        await answering([first, done], async (client, requests) => {
            const controller = new AbortController();
            setTimeout(() => controller.abort(reason), 200);
            const began = Date.now();
            await assert.rejects(client.healthz({ signal: controller.signal }), reason);
            assert.ok(Date.now() - began < 6_000);
            assert.equal(requests.length, 1);
        });
    }
    await answering([done], async (client, requests) => {
        await assert.rejects(client.healthz({ signal: AbortSignal.abort(reason) }), reason);
        assert.equal(requests.length, 0);
    });
});

test("a call ends with its time limit", async () => {
    const silent: Respond = () => {};
    await answering([silent], async (client, requests) => {
        await assert.rejects(client.healthz({ timeout: 200 }), { name: "TimeoutError" });
        assert.equal(requests.length, 1);
    });
});

test("a wait is at least what the server asks for, and grows otherwise", () => {
    const answer = { result: "overloaded", code: "overloaded", message: "busy" } as const;
    const overloaded = new TidingsError("postLike", answer, 503, 7);
    assert.ok(Number(waitBeforeRetry(overloaded, 0, 10)) >= 7_000);
    // After 30 s the server may not know the outcome of a write.
    assert.equal(waitBeforeRetry(overloaded, 0, 30_000), undefined);
    assert.ok(Number(waitBeforeRetry(new TidingsError("getAnalysis", answer, 503, 1), 0, 30_000)) >= 1_000);
    for (let number = 0; number < 20; number++) {
        const longest = Math.min(8_000, 250 * 2 ** number);
        const wait = backOff(number);
        assert.ok(wait >= longest / 2 && wait <= longest);
    }
});

test("Retry-After is a number of seconds or a date", () => {
    const read = (value: string) => retryAfter(new Headers({ "Retry-After": value }));
    assert.equal(read("12"), 12);
    const date = Number(read(new Date(Date.now() + 5_000).toUTCString()));
    assert.ok(date >= 4 && date <= 5);
    assert.equal(read(new Date(0).toUTCString()), 0);
    assert.equal(read("soon"), undefined);
    assert.equal(retryAfter(new Headers()), undefined);
});

test("the wait of the sign-in slowing is honoured at a real server", async () => {
    const server = await Server.start();
    try {
        await server.member("ann");
        const client = server.client({ retries: 0 });
        const wrong = () => attempt(client.signIn({ id: "ann", pw: "wrong password" }));
        let answer = await wrong();
        for (let number = 0; number < 10 && answer.result === "incorrect pw"; number++) {
            answer = await wrong();
        }
        assert.ok(answer.result === "too many requests" && answer.retryAfter !== undefined);
        await client.signIn({ id: "ann", pw: PASSWORD }, { retries: 2 });
    } finally {
        await server.stop();
    }
});
