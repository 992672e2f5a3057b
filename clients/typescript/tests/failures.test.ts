// Failures, and the one way to learn that a session has ended.

import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { attempt, ConnectionError, isFailure, type Tidings, TidingsError } from "tidings-client";
import { json, PASSWORD, Server, standIn } from "./support.js";

let server: Server;
before(async () => {
    server = await Server.start();
});
after(() => server.stop());

test("a failure has what the answer says", async () => {
    await server.member("ann");
    await assert.rejects(server.client().signIn({ id: "ann", pw: "wrong password" }), (error) => {
        assert.ok(error instanceof TidingsError && isFailure(error, "signIn") && !isFailure(error, "signUp"));
        const { operation, result, code, field, status, retryAfter, sessionEnded } = error;
        assert.deepEqual(
            { operation, result, code, field, status, retryAfter, sessionEnded },
            {
                operation: "signIn",
                result: "incorrect pw",
                code: "wrong_password",
                field: "pw",
                status: 200,
                retryAfter: undefined,
                sessionEnded: false,
            },
        );
        assert.equal(error.message, error.answer.message);
        assert.match(error.message, /\w+ \w+/);
        return true;
    });
});

test("attempt returns a failure instead of throwing it", async () => {
    const answer = await attempt(server.client().getPost({ post_obi: "6b0039acd7c34f1e5b2e91a7" }));
    assert.ok(answer.result === "Not found" && answer.code === "not_found" && answer.status === 404);
    const success = await attempt(server.client().getPopularityNewsfeed());
    assert.ok(success.result === "success" && success.newsfeed.length === 0);
});

/** A call that needs a token, whose failure the interface documents with its own text and status. */
type Call = (client: Tidings) => Promise<unknown>;
const ENDED: [string, Call][] = [
    ["401 bad token", (client) => client.updateAutoLogin({ auto_login: 1 })],
    ["200 not found", (client) => client.getUserinfo()],
    ["200 No member", (client) => client.changeNickname({ new_nickname: "Ann" })],
    ["200 Not found", (client) => client.removeMine()],
    ["200 bad request", (client) => client.getSpecificUserinfo({ type_num: 0 })],
    ["200 Not admin", (client) => client.checkAdmin()],
    ["200 bad request", (client) => client.sendFeedback({ post: "Hello" })],
    ["401 bad token", (client) => client.pushBlacklist({ user_id: "ann" })],
];

test("a session that has ended is told in one way, whatever the operation answers", async () => {
    const { token } = await server.member("bea");
    await server.client({ token }).signOutAll();
    for (const [expected, call] of ENDED) {
        const told: unknown[] = [];
        const client = server.client({
            token,
            onSessionEnded: (error) => told.push(`${error.status} ${error.result}`),
            onToken: (token) => told.push(token),
        });
        await assert.rejects(call(client), (error) => error instanceof TidingsError && error.sessionEnded);
        assert.deepEqual(told, [undefined, expected]);
        assert.equal(client.token, undefined);
        // The client is a guest now: the same condition, but no session ends.
        await assert.rejects(call(client), (error) => error instanceof TidingsError && error.sessionEnded);
        assert.equal(told.length, 2);
    }
});

test("calls at the same time tell once that the session has ended", async () => {
    const { token } = await server.member("cho");
    await server.client({ token }).signOutAll();
    let told = 0;
    const client = server.client({ token, onSessionEnded: () => (told += 1) });
    const calls = await Promise.allSettled([client.getUserinfo(), client.checkAdmin(), client.signOutAll()]);
    assert.ok(calls.every((call) => call.status === "rejected"));
    assert.equal(told, 1);
});

test("a refused token does not end the session that has begun since", async () => {
    const { token } = await server.member("dan");
    await server.client({ token }).signOutAll();
    let release = () => {};
    const held = new Promise<void>((resolve) => (release = resolve));
    const slow: typeof fetch = async (...args) => {
        const response = await fetch(...args);
        if (String(args[0]).endsWith("/get_userinfo")) {
            await held;
        }
        return response;
    };
    let told = 0;
    const client = server.client({ token, fetch: slow, onSessionEnded: () => (told += 1) });
    const late = attempt(client.getUserinfo());
    await client.signIn({ id: "dan", pw: PASSWORD });
    release();
    assert.equal((await late).result, "not found");
    assert.equal(told, 0);
    await client.checkAdmin().catch(() => {});
    assert.notEqual(client.token, undefined);
});

test("a member who is not an administrator stays signed in", async () => {
    const client = await server.member("eli");
    const answer = await attempt(client.checkAdmin());
    assert.ok(answer.result === "Not admin" && answer.code === "not_admin" && !answer.sessionEnded);
    assert.notEqual(client.token, undefined);
});

test("feeds go on without a token that has ended", async () => {
    const { token } = await server.member("fay");
    await server.client({ token }).signOutAll();
    const client = server.client({ token });
    assert.equal((await client.getRecommendationNewsfeed()).result, "success");
});

test("the token is stored whenever it changes", async () => {
    const stored: (string | undefined)[] = [];
    const client = server.client({ onToken: (token) => stored.push(token) });
    await client.signUp({ id: "gus", pw: PASSWORD, pw_check: PASSWORD, nickname: "Gus" });
    await client.changePw({ pw: PASSWORD, new_pw: "battery staple", new_pw_check: "battery staple" });
    await client.signOutAll();
    assert.equal(stored.length, 3);
    assert.ok(stored[0] !== stored[1] && stored[1] !== undefined && stored[2] === undefined);
});

test("the token is not shown when a client is printed", async () => {
    const client = server.client({ token: "secret" });
    const { inspect } = await import("node:util");
    assert.ok(!inspect(client, { depth: 9 }).includes("secret"));
    assert.ok(!JSON.stringify(client).includes("secret"));
});

test("an address or a token that no request can have is a fault of the program", () => {
    for (const url of ["nonsense", "/api", "http://", ""]) {
        assert.throws(() => server.client({ url }), TypeError, url);
    }
    const client = server.client();
    for (const token of ["two\nlines", "an access", "é"]) {
        assert.throws(() => server.client({ token }), TypeError);
        assert.throws(() => (client.token = token), TypeError);
    }
    client.token = "";
    assert.equal(client.token, undefined);
});

test("an answer of something else is a connection error with its status", async () => {
    const other = await standIn((request, response) => {
        if (request.url === "/healthz") {
            json(response, 200, ["hello"]);
        } else if (request.url === "/export_posts") {
            response.writeHead(200, { "Content-Type": "text/html" }).end("<h1>Please sign in</h1>");
        } else {
            response.writeHead(502, { "Content-Type": "text/html" }).end("<h1>Bad Gateway</h1>");
        }
    });
    const client = server.client({ url: other.url, retries: 0 });
    const status = (error: unknown) => error instanceof ConnectionError && error.status;
    await assert.rejects(client.getAnalysis(), (error) => status(error) === 502);
    await assert.rejects(client.healthz(), (error) => status(error) === 200);
    await assert.rejects(client.exportPosts(), (error) => status(error) === 200);
    other.stop();
    await assert.rejects(client.getAnalysis(), (error) => {
        assert.ok(error instanceof ConnectionError && error.cause instanceof Error);
        return error.status === undefined && error.operation === "getAnalysis";
    });
});
