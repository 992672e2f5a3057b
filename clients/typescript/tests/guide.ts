// The code of docs/client.md. This file is compiled and never run; a test compares the page with it.

import { attempt, ConnectionError, isFailure, Tidings, TidingsError } from "tidings-client";
import type { Input, LiveEvent, Post, Schemas, Success } from "tidings-client";

declare function showSignIn(): void;
declare function say(text: string, field?: string): void;
declare function show(post: Post): void;
declare function load(): Promise<void>;
declare function showNotice(notice: Schemas["Notice"]): void;
declare function hideNotice(id: string): void;
declare const id: string;
declare const pw: string;

const tidings = new Tidings({
    url: "https://news.example.org/api",
    token: localStorage.getItem("token") ?? "",
    onToken: (token) => localStorage.setItem("token", token ?? ""),
    onSessionEnded: () => showSignIn(),
});

const { newsfeed } = await tidings.getNewsfeedOfTopic({ category_name: "science", limit: 10 });
const { search_result } = await tidings.prioritySearch({ num: 20, search: "eclipse" });
await tidings.insertNotice({ title: "Library", post: "Open until ten." });
await tidings.signOutAll();

const answer = await attempt(tidings.signIn({ id, pw }));
if (answer.result !== "success") {
    say(answer.message, answer.field);
} else {
    say("Welcome back.");
}

try {
    await tidings.changeNickname({ new_nickname: "Ann" });
} catch (error) {
    if (isFailure(error, "changeNickname") && error.code === "invalid_value") {
        say(error.message, error.field);
    } else if (error instanceof TidingsError && error.sessionEnded) {
        // onSessionEnded has shown the sign-in.
    } else if (error instanceof ConnectionError) {
        say("There is no connection to the server.");
    } else {
        throw error;
    }
}

for await (const post of tidings.popularPosts({ limit: 20 })) {
    show(post);
    if (isFull()) break;
}

const controller = new AbortController();
addEventListener("pagehide", () => controller.abort());
await tidings.getAnalysis({ signal: controller.signal, timeout: 5_000, retries: 0 });

for await (const event of tidings.events({ events: ["notice"] }, { signal: controller.signal })) {
    if (event.event === "open" || event.event === "reset") {
        await load();
    } else if (event.event === "notice") {
        if (event.data.change === "hidden") hideNotice(event.data._id);
        else showNotice(event.data.notice);
    }
}

const feed = tidings.address("getPopularityNewsfeed", { format: "atom" });

declare function isFull(): boolean;
type Used = [Input<"signIn">, Success<"getUserinfo">, LiveEvent, typeof newsfeed, typeof search_result, typeof feed];
export type { Used };
