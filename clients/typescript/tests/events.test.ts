// Live events.

import assert from "node:assert/strict";
import type { ServerResponse } from "node:http";
import { test } from "node:test";
import { type LiveEvent, Tidings } from "tidings-client";
import { json, OVERLOADED, Server, standIn, until } from "./support.js";
import { FrameReader } from "../dist/frames.js";
import { listen } from "../dist/listen.js";

/** Collects events until `count` are there, and leaves the loop. */
async function take(events: AsyncIterable<LiveEvent>, count: number): Promise<LiveEvent[]> {
    const list: LiveEvent[] = [];
    for await (const event of events) {
        list.push(event);
        if (list.length === count) {
            break;
        }
    }
    return list;
}

const names = (events: LiveEvent[]) => events.map((event) => event.event);

test("events arrive as they happen, typed by their names", async () => {
    const server = await Server.start();
    try {
        const boss = await server.admin();
        const seen: LiveEvent[] = [];
        let _id = "";
        for await (const event of server.client().events({ events: ["notice", "post"] })) {
            seen.push(event);
            if (event.event === "open") {
                ({ _id } = await boss.insertNotice({ title: "Closed", post: "On Monday" }));
            } else if (event.event === "notice" && event.data.change === "published") {
                assert.equal(event.data.notice.title, "Closed");
                await boss.removeNotice({ notice_obi: _id });
            } else if (event.event === "notice" && event.data.change === "hidden") {
                assert.equal(event.data._id, _id);
                await boss.insertPost({ title: "Lake", url: "https://news.example.org/lake", tag: ["nature"] });
            } else if (event.event === "post") {
                assert.deepEqual([event.data.post.title, event.data.tag], ["Lake", ["nature"]]);
                break;
            }
        }
        assert.deepEqual(names(seen), ["open", "notice", "notice", "post"]);
    } finally {
        await server.stop();
    }
});

test("a stream continues after a restart of the server, with what was missed", async () => {
    const server = await Server.start();
    try {
        const boss = await server.admin();
        const events = server.client().events({ events: ["post"] });
        assert.equal((await events.next()).value?.event, "open");
        await boss.insertPost({ title: "First", url: "https://news.example.org/1" });
        const first = (await events.next()).value;
        assert.ok(first?.event === "post" && first.data.post.title === "First");
        const second = events.next();
        await server.pause();
        await server.resume();
        // The listener is still waiting to connect again.
        await boss.insertPost({ title: "Second", url: "https://news.example.org/2" });
        const value = (await second).value;
        assert.ok(value?.event === "post" && value.data.post.title === "Second");
        await events.return(undefined);
        // Another listener can begin at a place as well.
        const again = await take(server.client().events({ events: ["post"], last_event_id: first.id }), 2);
        assert.ok(again[1]?.event === "post" && again[1].data.post.title === "Second");
    } finally {
        await server.stop();
    }
});

test("each connection sends the id of the last event, and waits as the server asks", async () => {
    const asked: unknown[] = [];
    const times: number[] = [];
    const begin = (response: ServerResponse) => response.writeHead(200, { "Content-Type": "text/event-stream" });
    const steps: ((response: ServerResponse) => void)[] = [
        (response) => begin(response).end('retry: 10\nid: 1-0\n\nevent: counts\ndata: {"today_fav":1}\n\n'),
        (response) => json(response, 503, OVERLOADED, { "Retry-After": "1" }),
        // The event is not complete, so the place stays.
        (response) => begin(response).end(':\nid: 2-0\n\nid: 3-0\nevent: post\ndata: {"po'),
        (response) => response.destroy(),
        (response) => begin(response).write('id: 4-0\nevent: reset\ndata: {"event":"post"}\n\n'),
    ];
    const server = await standIn((request, response) => {
        asked.push(request.headers["last-event-id"]);
        times.push(Date.now());
        steps[asked.length - 1]?.(response);
    });
    const seen = await take(new Tidings({ url: server.url }).events(), 3);
    assert.deepEqual(names(seen), ["open", "counts", "reset"]);
    assert.deepEqual(seen.map((event) => event.id), ["", "1-0", "4-0"]);
    assert.deepEqual(asked, [undefined, "1-0", "1-0", "2-0", "2-0"]);
    assert.ok(Number(times[2]) - Number(times[1]) >= 1_000);
    server.stop();
});

test("a silent connection counts as lost", async () => {
    const server = await standIn((_, response) => {
        response.writeHead(200, { "Content-Type": "text/event-stream" });
        response.write(`retry: 10\nid: ${server.requests.length}\nevent: counts\ndata: {}\n\n`);
    });
    const connect = (_: string, signal: AbortSignal) => fetch(server.url, { signal });
    const seen = await take(listen(connect, "", undefined, 200), 3);
    assert.deepEqual(names(seen), ["open", "counts", "counts"]);
    assert.ok(server.requests.length >= 2);
    server.stop();
});

test("leaving the loop closes the connection", async () => {
    let isClosed = false;
    const server = await standIn((request, response) => {
        request.socket.on("close", () => (isClosed = true));
        response.writeHead(200, { "Content-Type": "text/event-stream" });
        response.write("event: counts\ndata: {}\n\n");
    });
    await take(new Tidings({ url: server.url }).events(), 2);
    await until(() => isClosed);
    assert.equal(server.requests.length, 1);
    server.stop();
});

test("an abort ends a listener that waits", async () => {
    const server = await Server.start();
    try {
        const controller = new AbortController();
        const reason = new Error("the page was left");
        const events = server.client().events({ events: ["post"] }, { signal: controller.signal });
        await events.next();
        const waiting = events.next();
        controller.abort(reason);
        await assert.rejects(waiting, reason);
    } finally {
        await server.stop();
    }
});

test("the first connection must succeed", async () => {
    const nowhere = new Tidings({ url: "http://127.0.0.1:1", retries: 0 });
    await assert.rejects(nowhere.events().next(), { name: "ConnectionError" });
    const refused = await standIn((_, response) => json(response, 200, { result: "success" }));
    await assert.rejects(new Tidings({ url: refused.url }).events().next(), { name: "ConnectionError", status: 200 });
    refused.stop();
});

test("frames are read whatever their line ends and pieces", () => {
    const stream = ': hello\nid: 1\nevent: post\ndata: {"a":\ndata:1}\n\nid: 2\n\ndata\n\nid: x\0y\nretry: 5x\nretry: 7\nunknown: 1\n\n';
    const expected = [
        { event: "post", data: '{"a":\n1}', id: "1" },
        { event: "", data: "", id: "2" },
    ];
    for (const end of ["\n", "\r\n", "\r"]) {
        const text = `${stream.replace(/\n/g, end)} `;
        for (const size of [1, 2, 3, 1_000]) {
            const reader = new FrameReader("0");
            const frames = [];
            for (let at = 0; at < text.length; at += size) {
                frames.push(...reader.read(text.slice(at, at + size)));
            }
            assert.deepEqual(frames, expected, JSON.stringify([end, size]));
            assert.deepEqual([reader.lastId, reader.retry], ["2", 7]);
        }
    }
});
