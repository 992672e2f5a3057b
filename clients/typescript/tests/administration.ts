// Administration over HTTP: the calls of its operations, for the table of all operations.

import assert from "node:assert/strict";
import { attempt, type Tidings } from "tidings-client";
import { PASSWORD, type Server } from "./support.js";

/** The server, an administrator and a member. */
export interface World {
    readonly server: Server;
    readonly boss: Tidings;
    readonly ann: Tidings;
}

/** Returns calls of the operations with which administrators do what the command line does. */
export function administration(world: () => World) {
    return {
        async getMembers() {
            const { boss, ann } = world();
            const { members, next } = await boss.getMembers({ limit: 1 });
            assert.deepEqual([members.length, next], [1, members[0]?.user_id]);
            const found = await boss.getMembers({ search: "ANN" });
            assert.ok(found.members.some(({ user_id }) => user_id === "ann"));
            assert.equal((await attempt(ann.getMembers())).result, "Not admin");
        },
        async getMember() {
            const { boss } = world();
            assert.equal((await boss.getMember({ user_id: "ANN" })).user_id, "ann");
            assert.equal((await attempt(boss.getMember({ user_id: "nobody" }))).result, "Not found");
        },
        async getMemberLists() {
            const { user_id, search_list } = await world().boss.getMemberLists({ user_id: "ann", type_num: 3 });
            assert.deepEqual([user_id, Array.isArray(search_list)], ["ann", true]);
        },
        async getMemberData() {
            const { account } = await world().boss.getMemberData({ user_id: "ann" });
            assert.equal(account._id, "ann");
        },
        async getMemberSignIns() {
            const { boss } = world();
            const { email, otp, mail } = await boss.getMemberSignIns({ user_id: "ann" });
            assert.deepEqual([email, otp, mail], [0, 0, null]);
        },
        async changeMemberNickname() {
            const { server, boss } = world();
            const client = await server.member("nora");
            await boss.changeMemberNickname({ user_id: "nora", new_nickname: "노라" });
            assert.equal((await client.getUserinfo()).nickname, "노라");
        },
        async updateMemberAutoLogin() {
            const { boss } = world();
            await boss.updateMemberAutoLogin({ user_id: "nora", auto_login: 1 });
            assert.equal((await boss.getMember({ user_id: "nora" })).auto_login, 1);
        },
        async resetMemberMeasurement() {
            const { server, boss } = world();
            const client = await server.member("rosa");
            await client.searchLogging({ search: "lake" });
            await boss.resetMemberMeasurement({ user_id: "rosa" });
            assert.deepEqual((await client.getSpecificUserinfo({ type_num: 3 })).search_list, []);
        },
        async addInvitation() {
            const { boss, ann } = world();
            const { _id, expires } = await boss.addInvitation({ uses: 30, days: 2, note: "the library's team" });
            assert.ok(Date.parse(expires) > Date.now());
            const { invitations } = await boss.getInvitations();
            const made = invitations.find((invitation) => invitation._id === _id);
            assert.deepEqual([made?.uses, made?.note, made?.scopes, made?.open], [30, "the library's team", [], 1]);
            assert.equal((await attempt(ann.addInvitation({}))).result, "Not admin");
            assert.equal((await boss.addInvitation({ email: "vera@example.org" })).code, null);
        },
        async getInvitations() {
            const [latest] = (await world().boss.getInvitations()).invitations;
            assert.equal(latest?.made_by, "boss");
        },
        async removeInvitation() {
            const { boss } = world();
            const { _id } = await boss.addInvitation({});
            await boss.removeInvitation({ invitation_obi: _id });
            assert.ok((await boss.getInvitations()).invitations.every((invitation) => invitation._id !== _id));
        },
        async resetMemberSignIns() {
            const { server, boss, ann } = world();
            const client = await server.member("rita");
            await boss.resetMemberSignIns({ user_id: "rita" });
            assert.equal((await attempt(client.getEmail())).result, "bad token");
            assert.equal((await attempt(ann.resetMemberSignIns({ user_id: "rita" }))).result, "Not admin");
        },
        async getMemberRole() {
            const { boss, ann } = world();
            assert.deepEqual((await boss.getMemberRole({ user_id: "ann" })).scopes, []);
            assert.deepEqual((await ann.getMemberRole({ user_id: "ann" })).scopes, []);
            assert.equal((await attempt(ann.getMemberRole({ user_id: "paul" }))).result, "Not admin");
        },
        async setMemberRole() {
            const { server, boss } = world();
            const client = await server.member("rolf");
            await boss.setMemberRole({ user_id: "rolf", scopes: ["feedback", "notices"] });
            assert.deepEqual((await client.getMemberRole({ user_id: "rolf" })).scopes, ["notices", "feedback"]);
            assert.ok(Array.isArray((await client.getAllFeedback()).feedback_list));
            await boss.setMemberRole({ user_id: "rolf", scopes: [] });
            assert.equal((await attempt(client.getAllFeedback())).result, "Not admin");
        },
        async setMemberPassword() {
            const { server, boss } = world();
            const client = await server.member("paul");
            await boss.setMemberPassword({ user_id: "paul", new_pw: "battery staple" });
            assert.equal((await attempt(client.signIn({ id: "paul", pw: PASSWORD }))).result, "incorrect pw");
            await client.signIn({ id: "paul", pw: "battery staple" });
        },
        async issuePwReset() {
            const { code } = await world().boss.issuePwReset({ user_id: "paul" });
            assert.match(code, /^[0-9a-z]{4}(-[0-9a-z]{4}){3}$/);
        },
        async resetPw() {
            const { server, boss } = world();
            const client = await server.member("olaf");
            const { code } = await boss.issuePwReset({ user_id: "olaf" });
            const change = { code, new_pw: "battery staple", new_pw_check: "battery staple" };
            await client.resetPw(change);
            assert.equal((await attempt(client.resetPw(change))).result, "incorrect code");
            await client.signIn({ id: "olaf", pw: "battery staple" });
        },
        async getMails() {
            const { server, boss } = world();
            await (await server.member("lena")).setEmail({ pw: PASSWORD, email: "lena@example.org" });
            const mail = (await boss.getMails()).mails.find((mail) => mail.user_id === "lena");
            assert.deepEqual([mail?.kind, mail?.state], ["confirm", "pending"]);
        },
        async retryMail() {
            const { boss } = world();
            const { mails } = await boss.getMails();
            await boss.retryMail({ mail_obi: mails[0]?._id ?? "" });
            assert.equal((await attempt(boss.retryMail({ mail_obi: "none" }))).result, "Not found");
        },
        async testMail() {
            const { error } = await world().boss.testMail({ email: "ann@example.org" });
            assert.equal(error, "the mail server could not be reached");
        },
        async issueMemberOtp() {
            const { enrolment_code } = await world().boss.issueMemberOtp({ user_id: "paul" });
            assert.match(enrolment_code, /^[0-9a-z]{4}(-[0-9a-z]{4}){3}$/);
        },
        async resetMemberOtp() {
            const answer = await attempt(world().boss.resetMemberOtp({ user_id: "paul" }));
            assert.equal(answer.result, "bad request");
        },
        async importMembers() {
            const { boss } = world();
            const { inserted, skipped } = await boss.importMembers([{ id: "moved" }, { id: "ann", nickname: "Other" }]);
            assert.deepEqual([inserted, skipped], [1, 1]);
        },
        async importActs() {
            const act = { id: "moved", type: "search", search: "lake", date: "2026-01-02T03:04:05Z" } as const;
            assert.equal((await world().boss.importActs([act])).inserted, 1);
        },
        async importRoster() {
            const { inserted, errors } = await world().boss.importRoster("id,name,password\ns1,김,pw\ns2,,pw\n");
            assert.deepEqual([inserted, errors[0]?.line], [1, 3]);
        },
        async getRoster() {
            assert.deepEqual((await world().boss.getRoster({ limit: 1 })).roster, [{ id: "s1", name: "김", major: "" }]);
        },
        async getAdmins() {
            const { admins } = await world().boss.getAdmins();
            assert.ok(admins.length > 0);
        },
        async grantAdmin() {
            const { server, boss } = world();
            const client = await server.member("vera");
            await boss.grantAdmin({ user_id: "vera" });
            await client.checkAdmin();
        },
        async revokeAdmin() {
            const { boss } = world();
            await boss.revokeAdmin({ user_id: "vera" });
            assert.ok((await boss.getAdmins()).admins.every(({ user_id }) => user_id !== "vera"));
        },
        async getPosts() {
            const { posts, next } = await world().server.client().getPosts({ limit: 1 });
            assert.equal(posts.length, 1);
            assert.equal(typeof next, "string");
        },
        async exportPosts() {
            const lines = (await world().boss.exportPosts()).trimEnd().split("\n");
            assert.match((JSON.parse(lines[0] ?? "") as { _id: string })._id, /^[0-9a-f]{24}$/);
        },
        async exportAudit() {
            const lines = (await world().boss.exportAudit()).trimEnd().split("\n");
            assert.equal((JSON.parse(lines[0] ?? "") as { seq: number }).seq, 1);
            await assert.rejects(world().ann.exportAudit(), { result: "Not admin" });
        },
        async getFeedback() {
            const { feedback } = await world().boss.getFeedback({ all: 1, limit: 1 });
            assert.equal(feedback.length, 1);
        },
        async getFeedWeights() {
            assert.equal((await world().boss.getFeedWeights()).in_use, "settings");
        },
        async learnFeedWeights() {
            assert.equal((await world().boss.learnFeedWeights()).learned, null);
        },
        async getLog() {
            const { log, next } = await world().boss.getLog({ limit: 1, path: "get_" });
            assert.equal(log[0]?.result, "success");
            assert.match(next ?? "", /^\d+-\d+$/);
        },
        async getAnalysisOfDays() {
            const { days, hours } = await world().boss.getAnalysisOfDays({ first: "2026-11-20", last: "2026-11-21" });
            assert.deepEqual([days.map(({ date }) => date), hours.length], [["2026-11-20", "2026-11-21"], 24]);
        },
        async getStatus() {
            const { boss } = world();
            const { changes, live, zone } = await boss.getStatus();
            assert.deepEqual([zone, live.month.length], ["UTC", 30]);
            for await (const event of boss.events({ events: ["changes"] })) {
                if (event.event === "changes") {
                    assert.ok(event.data.members >= changes.members);
                    break;
                }
            }
        },
    };
}
