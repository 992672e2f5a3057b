// Feeds as iterators over their posts.

import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { attempt, type Post, type Tidings } from "tidings-client";
import { all, json, Server, standIn, until } from "./support.js";

const COUNT = 23;
let server: Server;
let requests: string[];
let client: Tidings;

before(async () => {
    server = await Server.start();
    const boss = await server.admin();
    const posts = Array.from({ length: COUNT }, (_, n) => ({
        title: `Post ${n}`,
        url: `https://news.example.org/${n}`,
        topic: ["news"],
    }));
    await boss.importPosts(posts);
    await until(async () => (await all(server.client().popularPosts())).length === COUNT);
    const counting: typeof fetch = (url, init) => {
        requests.push(String(url).slice(server.url.length));
        return fetch(url, init);
    };
    client = server.client({ fetch: counting });
});
after(() => server.stop());

const ids = (posts: Post[]) => new Set(posts.map((post) => post._id)).size;

test("an iterator returns each post of all pages once", async () => {
    const feeds = {
        popular: () => client.popularPosts({ limit: 10 }),
        recommended: () => client.recommendedPosts({ limit: 10 }),
        topic: () => client.postsOfTopic({ category_name: "news", limit: 10 }),
        "topic, version 1": () => client.posts("getTopicNewsfeed", { newsfeed_name: "news", limit: 10 }),
    };
    for (const [name, feed] of Object.entries(feeds)) {
        requests = [];
        const posts = await all(feed());
        assert.deepEqual([posts.length, ids(posts), requests.length], [COUNT, COUNT, 3], name);
        assert.ok(requests.every((request) => request.includes("limit=10")));
    }
});

test("a page is requested when its first post is needed", async () => {
    requests = [];
    const feed = client.popularPosts({ limit: 10 });
    assert.equal(requests.length, 0);
    for (let n = 1; n <= 11; n++) {
        await feed.next();
        assert.equal(requests.length, n <= 10 ? 1 : 2);
    }
    await feed.return(undefined);
    assert.deepEqual(await feed.next(), { done: true, value: undefined });
    assert.equal(requests.length, 2);
});

test("leaving the loop ends the requests", async () => {
    requests = [];
    let seen = 0;
    for await (const _ of client.popularPosts({ limit: 5 })) {
        if ((seen += 1) === 7) {
            break;
        }
    }
    assert.equal(requests.length, 2);
});

test("pages have a bounded size by default", async () => {
    requests = [];
    await all(client.popularPosts());
    assert.deepEqual(requests, ["/get_popularity_newsfeed?limit=50"]);
    const answer = await attempt(client.getPopularityNewsfeed({ limit: 301 }));
    assert.ok(answer.result === "bad request" && answer.field === "limit");
});

test("an iterator can continue after a page", async () => {
    const { newsfeed, next } = await client.getPopularityNewsfeed({ limit: 10 });
    assert.ok(next !== null);
    const rest = await all(client.popularPosts({ limit: 10, next }));
    assert.equal(ids([...newsfeed, ...rest]), COUNT);
});

test("an aborted iterator throws the reason", async () => {
    requests = [];
    const controller = new AbortController();
    const reason = new Error("enough");
    const seen: Post[] = [];
    await assert.rejects(async () => {
        for await (const post of client.popularPosts({ limit: 5 }, { signal: controller.signal })) {
            seen.push(post);
            controller.abort(reason);
        }
    }, reason);
    // The posts of the page that was there are returned.
    assert.deepEqual([seen.length, requests.length], [5, 1]);
});

test("a feed whose order has expired fails with a code", async () => {
    const other = await standIn((request, response) => {
        if (request.url?.includes("next=") === true) {
            const message = "next has expired: begin again";
            json(response, 400, { result: "bad request", code: "next_expired", message, field: "next" });
        } else {
            json(response, 200, { result: "success", newsfeed: [{ _id: "1" }], next: "abc" });
        }
    });
    const feed = server.client({ url: other.url }).popularPosts();
    await feed.next();
    await assert.rejects(feed.next(), { code: "next_expired" });
    other.stop();
});
