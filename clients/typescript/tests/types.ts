// What the compiler knows. This file is compiled and never run: a line after `@ts-expect-error` must not compile.

import { attempt, isFailure, Tidings, TidingsError } from "tidings-client";
import type { Failure, Input, LiveEvent, Notice, Operation, Post, Success } from "tidings-client";

/** Compiles if both types are the same. */
function same<A, B>(..._: [A] extends [B] ? ([B] extends [A] ? [] : ["different"]) : ["different"]): void {}

declare const tidings: Tidings;

// The success of a call has the fields of its operation, and nothing else.
const { access_token, result } = await tidings.signIn({ id: "ann", pw: "correct horse" });
same<typeof access_token, string>();
same<typeof result, "success">();
const feed = await tidings.getPopularityNewsfeed();
same<typeof feed.newsfeed, readonly Post[]>();
same<typeof feed.next, string | null>();
same<Success<"getNotice">["notice_list"], Notice>();
same<Success<"getSearchRealtime">["search_realtime"][number], readonly [string, number]>();
// @ts-expect-error a feed has no token
feed.access_token;
// @ts-expect-error a list may be shorter than expected
feed.newsfeed[0].title;
// @ts-expect-error answers are not changed
feed.newsfeed = [];

// Inputs are those of the document.
same<Input<"signIn">, { readonly id: string; readonly pw: string }>();
same<Input<"updateAutoLogin">, { readonly auto_login: 0 | 1 }>();
await tidings.getLogDate({ months: 0, days: 1, hours: 0, limit: 10 });
await tidings.categorySearch({ category_name: "news", num: 10, search: "lake" });
await tidings.importPosts([{ title: "A lake", url: "https://example.org" }]);
await tidings.importRoster("id,name,password\n");
same<Success<"exportPosts">, string>();
await tidings.getAnalysis({ timeout: 1_000, retries: 0 });
// @ts-expect-error pw is missing
await tidings.signIn({ id: "ann" });
// @ts-expect-error there is no field `password`
await tidings.signIn({ id: "ann", password: "correct horse" });
// @ts-expect-error a path needs its parameter
await tidings.getPost();
// @ts-expect-error 2 is neither on nor off
await tidings.updateAutoLogin({ auto_login: 2 });
// @ts-expect-error an answer in another format has no type
await tidings.getPopularityNewsfeed({ format: "atom" });
// @ts-expect-error an optional field is left out, not undefined
await tidings.getPopularityNewsfeed({ limit: undefined });
// @ts-expect-error the roster is CSV
await tidings.importRoster([{ id: "s1" }]);
// @ts-expect-error an import is a list
await tidings.importPosts({ title: "A lake", url: "https://example.org" });

// A failure has the texts and codes of its operation.
const answer = await attempt(tidings.signIn({ id: "ann", pw: "correct horse" }));
if (answer.result === "success") {
    same<typeof answer.access_token, string>();
    // @ts-expect-error a success has no code
    answer.code;
} else {
    same<typeof answer.field, string | undefined>();
    // @ts-expect-error a failure has no token
    answer.access_token;
    switch (answer.result) {
        case "No member":
        case "incorrect pw":
        case "blacklist user":
        case "otp required":
        case "incorrect otp":
            break;
        // @ts-expect-error a text of another operation
        case "already id":
            break;
        case "bad request":
        case "method not allowed":
        case "payload too large":
        case "unsupported media type":
        case "too many requests":
        case "internal error":
        case "overloaded":
            break;
        default:
            // All texts are listed.
            answer satisfies never;
    }
}

// `result` tells the answers of a failure apart.
declare const failure: Failure<"getUserinfo">;
if (failure.result === "not found") {
    same<typeof failure.code, "bad_token">();
}

try {
    await tidings.signUp({ id: "ann", pw: "correct horse", pw_check: "correct horse", nickname: "Ann" });
} catch (error) {
    if (isFailure(error, "signUp")) {
        same<typeof error.operation, "signUp">();
        if (error.result === "already id") {
            error.message satisfies string;
        }
        // @ts-expect-error a text of another operation
        error.result === "incorrect pw";
    } else if (error instanceof TidingsError) {
        same<typeof error.operation, Operation>();
        if (error.code === "bad_token") {
            error.sessionEnded satisfies boolean;
        }
        // @ts-expect-error no operation has this code
        error.code === "bad-token";
    }
}

// Feeds are iterators over posts; only feeds are.
for await (const post of tidings.postsOfTopic({ category_name: "news" })) {
    same<typeof post, Post>();
}
tidings.posts("getTopicNewsfeed", { newsfeed_name: "news" });
// @ts-expect-error not a feed
tidings.posts("getAllNotice", {});
// @ts-expect-error a topic feed needs its topic
tidings.posts("getNewsfeedOfTopic", {});

// `event` tells live events apart.
for await (const live of tidings.events({ events: ["notice", "counts"] })) {
    same<typeof live, LiveEvent>();
    if (live.event === "notice") {
        if (live.data.change === "hidden") {
            same<typeof live.data._id, string>();
        } else {
            same<typeof live.data.notice, Notice>();
        }
    } else if (live.event === "counts") {
        same<typeof live.data.today_visitor, number>();
    } else if (live.event === "reset") {
        same<typeof live.data.event, "notice" | "post" | "counts">();
    }
}
// @ts-expect-error no event has this name
tidings.events({ events: ["likes"] });

// Addresses are those of operations with GET.
tidings.address("getPopularityNewsfeed");
tidings.address("getNewsfeedOfTopic", { category_name: "news", format: "atom" });
// @ts-expect-error a topic feed needs its topic
tidings.address("getNewsfeedOfTopic");
// @ts-expect-error not GET
tidings.address("signIn");
