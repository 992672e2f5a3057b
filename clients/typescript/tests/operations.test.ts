// Every operation, by its method, at a real server.

import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { createHmac } from "node:crypto";
import { readFile } from "node:fs/promises";
import { after, before, test } from "node:test";
import { attempt, type Operation, Tidings } from "tidings-client";
import { administration } from "./administration.js";
import { all, PACKAGE, PASSWORD, run, Server, until } from "./support.js";
import { Operations } from "../dist/operations.js";
import { READS } from "../dist/retry.js";
import { OPERATIONS } from "../dist/table.js";

let server: Server;
let boss: Tidings;
let ann: Tidings;
const guest = () => server.client();

before(async () => {
    // Mail waits, because nothing takes it.
    const mail = ["--smtp-url", "smtp+plain://127.0.0.1:9", "--mail-from", "no-reply@campus.example"];
    server = await Server.start(...mail, "--passkey-domain", "app.example");
    boss = await server.admin();
    ann = await server.member("ann");
});
after(() => server.stop());

/** Inserts a post, and returns its id when feeds show it. */
async function post(title: string, topic: string[] = []): Promise<string> {
    const url = `https://news.example.org/${encodeURIComponent(title)}`;
    const { _id } = await boss.insertPost({ title, url, post: `The text of ${title}.`, topic });
    await until(async () => (await all(guest().popularPosts())).some((post) => post._id === _id));
    return _id;
}

/** Inserts a notice, and returns its id. */
async function notice(title = "Closed"): Promise<string> {
    return (await boss.insertNotice({ title, post: "The library is closed." }))._id;
}

/** Returns the code that an authenticator shows some periods of 30 seconds from now (RFC 6238). */
function totp(secret: string, periods = 0): string {
    const bits = [...secret].map((letter) => "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567".indexOf(letter).toString(2).padStart(5, "0"));
    const key = Buffer.from(bits.join("").match(/.{8}/g)?.map((byte) => Number.parseInt(byte, 2)) ?? []);
    const step = Buffer.alloc(8);
    step.writeBigInt64BE(BigInt(Math.floor(Date.now() / 30_000) + periods));
    const hash = createHmac("sha1", key).update(step).digest();
    const number = hash.readUInt32BE((hash[19] ?? 0) & 0x0f) & 0x7fff_ffff;
    return String(number % 1_000_000).padStart(6, "0");
}

/** Returns a new member with a second factor, and a recovery code. */
async function withSecondFactor(id: string): Promise<[Tidings, string]> {
    const client = await server.member(id);
    const { secret } = await client.beginOtp({ pw: PASSWORD });
    const { recovery_codes } = await client.enableOtp({ otp: totp(secret) });
    return [client, recovery_codes[0] ?? ""];
}

const ID = /^[0-9a-f]{24}$/;
const TOKEN = /^[\w-]+\.[\w-]+\.[\w-]+$/;

/** Calls each operation and checks what it does. The compiler finds a missing one. */
const CALLS: { [O in Operation]: () => Promise<void> } = {
    async signUp() {
        const client = guest();
        const fields = { id: "kim", pw: PASSWORD, pw_check: PASSWORD, nickname: "김" };
        assert.match((await client.signUp(fields)).access_token, TOKEN);
        assert.equal((await client.getUserinfo()).nickname, "김");
    },
    async signUpInvited() {
        const client = guest();
        const { code } = await boss.addInvitation({ scopes: ["notices"] });
        const fields = { id: "invited", pw: PASSWORD, pw_check: PASSWORD, nickname: "Vera", code: code ?? "" };
        assert.match((await client.signUpInvited(fields)).access_token, TOKEN);
        assert.deepEqual((await client.getMemberRole({ user_id: "invited" })).scopes, ["notices"]);
        assert.equal((await attempt(guest().signUpInvited({ ...fields, id: "uninvited" }))).result, "incorrect code");
    },
    async signIn() {
        const client = guest();
        assert.equal((await client.signIn({ id: "ann", pw: PASSWORD })).access_token, client.token);
    },
    async signInUp() {
        const answer = await attempt(guest().signInUp({ id: "20260001", pw: PASSWORD }));
        assert.equal(answer.result, "not school");
    },
    async changePw() {
        const client = await server.member("cho");
        const old = client.token;
        const { access_token } = await client.changePw({ pw: PASSWORD, new_pw: "battery staple", new_pw_check: "battery staple" });
        assert.equal(client.token, access_token);
        assert.notEqual(client.token, old);
        await client.getUserinfo();
    },
    async signOutAll() {
        const client = await server.member("dora");
        await client.signOutAll();
        assert.equal(client.token, undefined);
    },
    async getMyData() {
        const client = await server.member("mia");
        await client.sendFeedback({ type: "general", post: "한글 🦀" });
        const { account, feedback, sessions, searches } = await client.getMyData();
        assert.deepEqual([account._id, account.admin, sessions[0]?.current], ["mia", null, 1]);
        assert.deepEqual([feedback[0]?.post, feedback[0]?.author, searches], ["한글 🦀", "mia", []]);
        assert.equal((await attempt(guest().getMyData())).result, "bad token");
    },
    async getSessions() {
        const client = await server.member("hal");
        const [session] = (await client.getSessions()).sessions;
        assert.deepEqual([session?.device, session?.current], ["Node.js", 1]);
    },
    async signOutSession() {
        const client = await server.member("ida");
        const [session] = (await client.getSessions()).sessions;
        await client.signOutSession({ session_obi: session?._id ?? "" });
        assert.equal((await attempt(client.getSessions())).result, "bad token");
    },
    async requestPwReset() {
        await guest().requestPwReset({ id: "nobody@example.org" });
    },
    async setEmail() {
        const client = await server.member("mona");
        await client.setEmail({ pw: PASSWORD, email: "mona@example.org" });
        assert.equal((await client.getEmail()).pending_email, "mona@example.org");
        assert.equal((await attempt(client.setEmail({ pw: "wrong", email: "" }))).result, "incorrect pw");
    },
    async getEmail() {
        assert.deepEqual((await ann.getEmail()).email, null);
    },
    async confirmEmail() {
        assert.equal((await attempt(ann.confirmEmail({ code: "123456" }))).result, "incorrect code");
    },
    async signInOidc() {
        assert.equal((await attempt(guest().signInOidc({ code: "0000-0000-0000-0000" }))).result, "incorrect code");
    },
    async linkOidc() {
        const code = "0000-0000-0000-0000";
        assert.equal((await attempt(ann.linkOidc({ code, pw: PASSWORD }))).result, "incorrect code");
        assert.equal((await attempt(ann.linkOidc({ code, pw: "wrong" }))).result, "incorrect pw");
    },
    async unlinkOidc() {
        await ann.unlinkOidc({ pw: PASSWORD });
        assert.equal((await attempt(ann.unlinkOidc({ pw: "wrong" }))).result, "incorrect pw");
    },
    // A browser does the rest, in passkey.test.ts.
    async beginPasskey() {
        const { options } = await ann.beginPasskey({ pw: PASSWORD });
        assert.equal(JSON.parse(options).rp.id, "app.example");
        assert.equal((await attempt(ann.beginPasskey({ pw: "wrong" }))).result, "incorrect pw");
    },
    async addPasskey() {
        const { ceremony } = await ann.beginPasskey({ pw: PASSWORD });
        assert.equal((await attempt(ann.addPasskey({ ceremony, credential: "{}", name: "Phone" }))).result, "incorrect code");
    },
    async getPasskeys() {
        assert.deepEqual((await ann.getPasskeys()).passkeys, []);
    },
    async removePasskey() {
        assert.equal((await attempt(ann.removePasskey({ passkey_obi: "6560c1a2ffeeddccbbaa0001" }))).result, "Not found");
    },
    async beginPasskeySignIn() {
        assert.equal(JSON.parse((await guest().beginPasskeySignIn()).options).rpId, "app.example");
    },
    async signInPasskey() {
        const { ceremony } = await guest().beginPasskeySignIn();
        assert.equal((await attempt(guest().signInPasskey({ ceremony, credential: "{}" }))).result, "incorrect code");
    },
    async getOtp() {
        assert.deepEqual((await ann.getOtp()).enabled, 0);
    },
    async beginOtp() {
        const client = await server.member("pia");
        assert.match((await client.beginOtp({ pw: PASSWORD })).uri, /^otpauth:\/\/totp\/tidings:pia\?/);
        assert.equal((await attempt(client.beginOtp({ pw: "another password" }))).result, "incorrect pw");
    },
    async enableOtp() {
        const client = await server.member("iris");
        const { secret } = await client.beginOtp({ pw: PASSWORD });
        assert.equal((await client.enableOtp({ otp: totp(secret) })).recovery_codes.length, 10);
        const refused = await attempt(guest().signIn({ id: "iris", pw: PASSWORD }));
        assert.equal(refused.result, "otp required");
    },
    async renewRecoveryCodes() {
        const [client, code] = await withSecondFactor("max");
        const { recovery_codes } = await client.renewRecoveryCodes({ pw: PASSWORD, otp: code });
        await guest().signIn({ id: "max", pw: PASSWORD, otp: recovery_codes[0] ?? "" });
    },
    async disableOtp() {
        const [client, code] = await withSecondFactor("ned");
        await client.disableOtp({ pw: PASSWORD, otp: code });
        await guest().signIn({ id: "ned", pw: PASSWORD });
    },
    async getUserinfo() {
        const { user_id, admin } = await ann.getUserinfo();
        assert.deepEqual([user_id, admin], ["ann", 0]);
    },
    async getSpecificUserinfo() {
        assert.deepEqual((await ann.getSpecificUserinfo({ type_num: 3 })).search_list, []);
    },
    async changeNickname() {
        await ann.changeNickname({ new_nickname: "Annie" });
        assert.equal((await ann.getUserinfo()).nickname, "Annie");
    },
    async updateAutoLogin() {
        await ann.updateAutoLogin({ auto_login: 1 });
        assert.equal((await ann.getUserinfo()).auto_login, 1);
    },
    async resetUserMeasurement() {
        await ann.resetUserMeasurement();
    },
    async removeMine() {
        const client = await server.member("eve");
        await client.removeMine();
        assert.equal(client.token, undefined);
        assert.equal((await attempt(client.signIn({ id: "eve", pw: PASSWORD }))).result, "No member");
    },
    async checkAdmin() {
        await boss.checkAdmin();
        assert.equal((await attempt(ann.checkAdmin())).result, "Not admin");
    },
    async adminRemoveUser() {
        await server.member("fay");
        await boss.adminRemoveUser({ user_id: "fay" });
    },
    async getBlacklist() {
        assert.deepEqual((await boss.getBlacklist()).blacklist, []);
    },
    async pushBlacklist() {
        const client = await server.member("gus");
        await boss.pushBlacklist({ user_id: "gus" });
        assert.equal((await attempt(client.signIn({ id: "gus", pw: PASSWORD }))).result, "blacklist user");
    },
    async popBlacklist() {
        await boss.popBlacklist({ user_id: "gus" });
        await guest().signIn({ id: "gus", pw: PASSWORD });
    },
    async getMemberSessions() {
        assert.equal((await boss.getMemberSessions({ user_id: "hal" })).sessions.length, 1);
    },
    async signOutMemberSession() {
        const [session] = (await boss.getMemberSessions({ user_id: "hal" })).sessions;
        await boss.signOutMemberSession({ user_id: "hal", session_obi: session?._id ?? "" });
        assert.deepEqual((await boss.getMemberSessions({ user_id: "hal" })).sessions, []);
    },
    async signOutMember() {
        const client = await server.member("oda");
        await boss.signOutMember({ user_id: "oda" });
        assert.equal((await attempt(client.getSessions())).result, "bad token");
    },
    async addKey() {
        const { key } = await boss.addKey({ name: "reader", scopes: ["members:read"] });
        const program = server.client({ token: key });
        await program.getBlacklist();
        assert.equal((await attempt(program.getAllFeedback())).result, "Not admin");
    },
    async getKeys() {
        const [key] = (await boss.getKeys()).keys;
        assert.deepEqual([key?.name, key?.scopes, key?.expires], ["reader", ["members:read"], null]);
    },
    async removeKey() {
        await boss.removeKey({ key_obi: "reader" });
        assert.deepEqual((await boss.getKeys()).keys, []);
    },
    async addWebhook() {
        const fields = { name: "chat", url: "https://receiver.invalid/", events: ["feedback.created" as const] };
        assert.match((await boss.addWebhook(fields)).secret, /^whsec_[\w+/]{43}=$/);
        assert.equal((await attempt(boss.addWebhook({ ...fields, url: "https://127.0.0.1/" }))).result, "bad request");
    },
    async getWebhooks() {
        const [webhook] = (await boss.getWebhooks()).webhooks;
        assert.deepEqual([webhook?.name, webhook?.events, webhook?.dead], ["chat", ["feedback.created"], 0]);
    },
    async rotateWebhook() {
        const { _id, secret } = await boss.rotateWebhook({ webhook_obi: "chat" });
        assert.notEqual((await boss.rotateWebhook({ webhook_obi: _id })).secret, secret);
    },
    async testWebhook() {
        const { _id } = await boss.testWebhook({ webhook_obi: "chat" });
        const { deliveries } = await boss.getWebhookDeliveries();
        assert.equal(deliveries.find((delivery) => delivery._id === _id)?.event, "ping");
    },
    async getWebhookDeliveries() {
        const [delivery] = (await boss.getWebhookDeliveries()).deliveries;
        assert.deepEqual([delivery?.webhook, delivery?.state], ["chat", "pending"]);
    },
    async retryWebhookDelivery() {
        const [delivery] = (await boss.getWebhookDeliveries()).deliveries;
        await boss.retryWebhookDelivery({ delivery_obi: delivery?._id ?? "" });
    },
    async addSource() {
        const { _id } = await boss.addSource({ url: "https://source.invalid/feed", topic: ["news"], every: 60 });
        const { source } = await boss.getSource({ source_obi: _id });
        assert.deepEqual([source.name, source.topic, source.every, source.state], ["source.invalid", ["news"], 60, "active"]);
        assert.equal((await attempt(boss.addSource({ url: "http://127.0.0.1/" }))).result, "bad request");
    },
    async getSources() {
        assert.deepEqual((await boss.getSources()).sources.map((source) => source.url), ["https://source.invalid/feed"]);
    },
    async getSource() {
        const { source } = await boss.getSource({ source_obi: "https://source.invalid/feed" });
        assert.deepEqual([source.posts, source.tag], [0, []]);
    },
    async updateSource() {
        await boss.updateSource({ source_obi: "https://source.invalid/feed", name: "News", every: 0 });
        const { source } = await boss.getSource({ source_obi: "https://source.invalid/feed" });
        assert.deepEqual([source.name, source.every], ["News", null]);
    },
    async pauseSource() {
        await boss.pauseSource({ source_obi: "https://source.invalid/feed" });
        const { source } = await boss.getSource({ source_obi: "https://source.invalid/feed" });
        assert.deepEqual([source.state, source.next_fetch], ["paused", null]);
    },
    async resumeSource() {
        await boss.resumeSource({ source_obi: "https://source.invalid/feed" });
        const { source } = await boss.getSource({ source_obi: "https://source.invalid/feed" });
        assert.equal(source.state, "active");
    },
    async fetchSource() {
        const fetched = await boss.fetchSource({ source_obi: "https://source.invalid/feed" });
        assert.deepEqual([fetched.inserted, typeof fetched.error], [0, "string"]);
    },
    async discoverSources() {
        const found = await boss.discoverSources({ url: "https://source.invalid/" });
        assert.deepEqual([found.feeds, typeof found.error], [[], "string"]);
    },
    async exportSources() {
        assert.match((await boss.exportSources()).opml, /xmlUrl="https:\/\/source\.invalid\/feed"/);
    },
    async importSources() {
        const { opml } = await boss.exportSources();
        assert.deepEqual(await boss.importSources({ opml }), { result: "success", inserted: 0, skipped: 1, errors: [] });
    },
    async getNewsfeedOfSource() {
        const { source } = await boss.getSource({ source_obi: "https://source.invalid/feed" });
        assert.deepEqual((await guest().getNewsfeedOfSource({ source_obi: source._id })).newsfeed, []);
        assert.equal((await attempt(guest().getNewsfeedOfSource({ source_obi: "0".repeat(24) }))).result, "Not found");
    },
    async removeSource() {
        await boss.removeSource({ source_obi: "https://source.invalid/feed" });
        assert.deepEqual((await boss.getSources()).sources, []);
    },
    async removeWebhook() {
        await boss.removeWebhook({ webhook_obi: "chat" });
        assert.deepEqual((await boss.getWebhooks()).webhooks, []);
    },
    async getAudit() {
        const { audit, next } = await boss.getAudit({ action: "key", limit: 1 });
        assert.deepEqual([audit[0]?.action, audit[0]?.subject, next], ["key.revoke", "reader", audit[0]?.seq]);
    },
    async verifyAudit() {
        assert.deepEqual((await boss.verifyAudit()).fault, null);
    },
    async getAllNotice() {
        const _id = await notice("All");
        assert.equal((await guest().getAllNotice()).notice_list[0]?._id, _id);
    },
    async getNotices() {
        const { _id } = await boss.insertNotice({ title: "Sea", post: "*Waves*", topic: "sea", pinned: 1 });
        const [first] = (await guest().getNotices({ topic: "sea", html: 1 })).notice_list;
        assert.deepEqual([first?._id, first?.topic, first?.visible_from], [_id, "sea", null]);
        assert.equal(first?.html, "<p><em>Waves</em></p>\n");
    },
    async getNotice() {
        const { notice_list } = await guest().getNotice({ notice_obi: await notice("One") });
        assert.deepEqual([notice_list.title, notice_list.html], ["One", undefined]);
    },
    async insertNotice() {
        assert.match((await boss.insertNotice({ title: "New", post: "Text", activation: 0 }))._id, ID);
    },
    async updateNotice() {
        const notice_obi = await notice();
        await boss.updateNotice({ notice_obi, title: "Open" });
        assert.equal((await guest().getNotice({ notice_obi })).notice_list.title, "Open");
    },
    async removeNotice() {
        const notice_obi = await notice();
        await boss.removeNotice({ notice_obi });
        assert.equal((await attempt(guest().getNotice({ notice_obi }))).result, "Not found");
    },
    async saveNoticeDraft() {
        const notice = (await boss.insertNotice({ title: "Exams", post: "In hall 1." }))._id;
        assert.match((await boss.saveNoticeDraft({ notice, visible_until: "2096-01-01" }))._id, ID);
    },
    async getNoticeDrafts() {
        const [first] = (await boss.getNoticeDrafts()).drafts;
        assert.deepEqual([first?.title, first?.visible_until], [null, "2096-01-01"]);
    },
    async publishNoticeDraft() {
        const [first] = (await boss.getNoticeDrafts()).drafts;
        const { _id } = await boss.publishNoticeDraft({ draft_obi: first?._id ?? "" });
        assert.equal(_id, first?.notice);
    },
    async removeNoticeDraft() {
        const draft_obi = (await boss.saveNoticeDraft({ title: "Never" }))._id;
        await boss.removeNoticeDraft({ draft_obi });
        assert.deepEqual((await boss.getNoticeDrafts()).drafts, []);
    },
    async getNoticeReads() {
        const notice_obi = await notice();
        await guest().getNotice({ notice_obi });
        const { notice_reads } = await boss.getNoticeReads({ notice_obi, days: 2 });
        assert.equal(notice_reads.length, 2);
        assert.equal(notice_reads.reduce((sum, { reads }) => sum + reads, 0), 1);
    },
    async noticeFeedback() {
        const notice_obi = await notice();
        await ann.noticeFeedback({ notice_obi, post: "Until when?" });
        assert.equal((await boss.getAllFeedback()).feedback_list[0]?.notice, notice_obi);
    },
    async getMainInfo() {
        assert.equal((await guest().getMainInfo()).main_info.length, 2);
    },
    async updateMainInfo() {
        await boss.updateMainInfo({ new_info_1: "Welcome" });
        assert.equal((await guest().getMainInfo()).main_info[0], "Welcome");
    },
    async sendFeedback() {
        await ann.sendFeedback({ type: "idea", post: "A darker theme" });
    },
    async getAllFeedback() {
        const [first] = (await boss.getAllFeedback()).feedback_list;
        assert.deepEqual([first?.type, first?.author], ["idea", "ann"]);
    },
    async updateFeedback() {
        const [first] = (await boss.getAllFeedback()).feedback_list;
        assert.ok(first);
        await boss.updateFeedback({ feedback_obi: first._id, activation: 0 });
        assert.equal((await boss.getAllFeedback()).feedback_list[0]?.activation, 0);
    },
    async getPost() {
        const { post: found } = await guest().getPost({ post_obi: await post("Lake", ["nature"]) });
        assert.deepEqual([found.title, found.post, found.topic], ["Lake", "The text of Lake.", ["nature"]]);
    },
    async getCategories() {
        assert.deepEqual((await guest().getCategories()).categories, [{ category_name: "nature", posts: 1 }]);
    },
    async postView() {
        const post_obi = await post("Viewed");
        await ann.postView({ post_obi });
        assert.equal((await ann.getSpecificUserinfo({ type_num: 2 })).view_list?.[0]?._id, post_obi);
    },
    async postLike() {
        const post_obi = await post("Liked");
        await ann.postLike({ post_obi });
        assert.equal((await ann.getUserinfo()).user_fav_list[0]?._id, post_obi);
    },
    async postUnlike() {
        const [liked] = (await ann.getUserinfo()).user_fav_list;
        assert.ok(liked);
        await ann.postUnlike({ post_obi: liked._id });
        assert.deepEqual((await ann.getUserinfo()).user_fav_list, []);
    },
    async postHide() {
        const post_obi = await post("Hidden");
        await ann.postHide({ post_obi });
        await until(async () => !(await ann.getRecommendationNewsfeed()).newsfeed.some((post) => post._id === post_obi));
        await ann.postUnhide({ post_obi });
    },
    async postUnhide() {
        const post_obi = await post("Hidden and shown");
        await ann.postHide({ post_obi });
        await ann.postUnhide({ post_obi });
        const { newsfeed } = await ann.getRecommendationNewsfeed();
        assert.ok(newsfeed.some((post) => post._id === post_obi));
    },
    async insertPost() {
        assert.match((await boss.insertPost({ title: "New", url: "https://news.example.org/new" }))._id, ID);
        const again = await attempt(boss.insertPost({ title: "New", url: "https://news.example.org/new" }));
        assert.equal(again.result, "already url");
    },
    async updatePost() {
        const post_obi = await post("Draft");
        await boss.updatePost({ post_obi, title: "Final" });
        assert.equal((await guest().getPost({ post_obi })).post.title, "Final");
    },
    async removePost() {
        const post_obi = await post("Old");
        await boss.removePost({ post_obi });
        assert.equal((await attempt(guest().getPost({ post_obi }))).result, "Not found");
    },
    async importPosts() {
        const posts = [{ title: "Imported", url: "https://news.example.org/imported" }, { title: "No address", url: "" }];
        const { inserted, errors } = await boss.importPosts(posts);
        assert.deepEqual([inserted, errors.map((error) => error.line)], [1, [2]]);
    },
    async searchLogging() {
        await ann.searchLogging({ search: "lake" });
    },
    async prioritySearch() {
        const { search_result } = await guest().prioritySearch({ num: 5, search: "lake" });
        assert.equal(search_result[0]?.title, "Lake");
        assert.ok(search_result[0].similarity > 0);
    },
    async categorySearch() {
        const found = await guest().categorySearch({ category_name: "nature", num: 5, search: "lake" });
        assert.equal(found.search_result.length, 1);
    },
    async domainSearch() {
        assert.equal((await guest().domainSearch({ search: "lake" })).search_result[0]?.title, "news.example.org");
    },
    async getUserLatelySearch() {
        assert.equal((await ann.getUserLatelySearch({ num: 5 })).lately_search_list[0]?.original, "lake");
    },
    async getSimilarityWords() {
        assert.equal((await guest().getSimilarityWords({ search: "lake" })).similarity_word.length, 1);
    },
    async getRecommendationNewsfeed() {
        assert.equal((await ann.getRecommendationNewsfeed({ limit: 1 })).newsfeed.length, 1);
    },
    async getPopularityNewsfeed() {
        assert.equal((await guest().getPopularityNewsfeed({ limit: 2 })).newsfeed.length, 2);
    },
    async getNewsfeedOfTopic() {
        await post("대학 소식", ["대학/학교 생활?"]);
        const { newsfeed } = await guest().getNewsfeedOfTopic({ category_name: "대학/학교 생활?" });
        assert.deepEqual(newsfeed.map((post) => post.title), ["대학 소식"]);
    },
    async getTopicNewsfeed() {
        assert.equal((await guest().getTopicNewsfeed({ newsfeed_name: "nature" })).newsfeed.length, 1);
    },
    async getSearchRealtime() {
        await until(async () => (await guest().getSearchRealtime()).search_realtime.length > 0);
        assert.deepEqual((await guest().getSearchRealtime()).search_realtime[0], ["lake", 1]);
    },
    async getSearchBursts() {
        assert.deepEqual((await guest().getSearchBursts()).search_bursts, []);
    },
    async getLogDate() {
        assert.equal((await boss.getLogDate({ months: 0, days: 0, hours: 1, limit: 3 })).log.length, 3);
    },
    async getLogUser() {
        const { log } = await ann.getLogUser({ user_id: "ann", limit: 1 });
        assert.equal(log[0]?.user_id, "ann");
    },
    async getLogUserDate() {
        const { log } = await ann.getLogUserDate({ user_id: "ann", months: 0, days: 1, hours: 0, limit: 1 });
        assert.equal(log[0]?.status, 200);
    },
    async getAnalysis() {
        assert.ok((await guest().getAnalysis()).analysis.posts_count > 0);
    },
    async getEverydayAnalysisDaysAgo() {
        assert.equal((await guest().getEverydayAnalysisDaysAgo({ days: 6 })).analysis.length, 7);
    },
    async specificDays() {
        const { analysis } = await guest().specificDays({ year: 2026, month: 11, day: 20 });
        assert.equal(analysis.date, "2026-11-20");
    },
    async insertDevice() {
        await guest().insertDevice({ device: "mobile" });
    },
    async getDevice() {
        assert.equal((await guest().getDevice()).mobile, 1);
    },
    async getReport() {
        const { days, devices, topics } = await guest().getReport();
        assert.deepEqual([days.length, devices.mobile, topics.length > 0], [30, 1, true]);
        assert.equal((await attempt(guest().getReport({ from: "2026-02-29" }))).result, "bad request");
    },
    async reports() {
        assert.match(await guest().reports({ from: "2024-11-01", to: "2024-11-20" }), /<h1>1 November 2024/);
    },
    async reportsFile() {
        const csv = await guest().reportsFile({ file: "devices.csv" });
        assert.equal(csv, "device,reports\r\npc,0\r\ntablet,0\r\nmobile,1\r\n");
    },
    async home() {
        assert.equal((await guest().home()).name, "tidings");
    },
    async events() {
        for await (const event of guest().events({ events: ["counts"] })) {
            if (event.event === "counts") {
                assert.ok(event.data.today_visitor > 0);
                break;
            }
        }
    },
    async healthz() {
        await guest().healthz();
    },
    async readyz() {
        await guest().readyz();
    },
    async openapiJson() {
        assert.equal((await guest().openapiJson())["openapi"], "3.1.0");
    },
    async docs() {
        assert.match(await guest().docs(), /<html/i);
    },
    ...administration(() => ({ server, boss, ann })),
};

test("every operation of the document is a method, which does what it says", async (t) => {
    for (const [name, call] of Object.entries(CALLS)) {
        await t.test(name, call);
    }
});

test("the methods are the operations of the document", () => {
    const document = JSON.parse(run(["openapi"])) as { paths: Record<string, Record<string, { operationId: string }>> };
    const described = Object.entries(document.paths).flatMap(([path, item]) =>
        Object.entries(item).map(([method, { operationId }]) => `${method.toUpperCase()} ${path} ${operationId}`),
    );
    const known = Object.values(OPERATIONS).map(({ method, path, id }) => `${method} ${path} ${id}`);
    assert.deepEqual(known.sort(), described.sort());
    for (const name of Object.keys(OPERATIONS)) {
        assert.ok(name in Operations.prototype, name);
    }
});

test("the version of the package is that of the program", async () => {
    const { version } = JSON.parse(await readFile(`${PACKAGE}/package.json`, "utf8")) as { version: string };
    assert.equal(version, (await guest().home()).version);
});

test("the generated files are what the document gives", () => {
    const script = [`${PACKAGE}/scripts/generate.mjs`, "--check", "-"];
    execFileSync(process.execPath, script, { input: run(["openapi"]), stdio: ["pipe", "inherit", "inherit"] });
});

test("the operations that may be sent again are those that the server answers HEAD for", async () => {
    for (const [name, { method, path }] of Object.entries(OPERATIONS)) {
        if (method === "GET" && name !== "events") {
            const response = await fetch(server.url + path.replace(/\{\w+\}/g, "1"), { method: "HEAD" });
            assert.equal(response.status !== 405, READS.has(name as Operation), name);
        }
    }
});

test("the address of a feed is one for feed readers", async () => {
    const address = guest().address("getPopularityNewsfeed", { format: "atom", limit: 1 });
    const response = await fetch(address);
    assert.equal(response.headers.get("content-type"), "application/atom+xml; charset=utf-8");
});

test("a parameter that would change the path is refused", async () => {
    for (const post_obi of ["", ".", ".."]) {
        await assert.rejects(guest().getPost({ post_obi }), TypeError);
    }
    assert.equal((await attempt(guest().getPost({ post_obi: "../get_analysis" }))).result, "Not found");
});

test("a client works below a base path", async () => {
    const below = await Server.start("--base-path", "/api");
    try {
        const client = new Tidings({ url: `${below.url}/api/` });
        assert.deepEqual((await client.getPopularityNewsfeed()).newsfeed, []);
    } finally {
        await below.stop();
    }
});
