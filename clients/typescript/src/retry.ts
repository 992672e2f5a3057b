import { ConnectionError, TidingsError } from "./errors.js";
import type { Operation } from "./types.js";

/**
 * The operations that change nothing, whatever their method, so that they may be sent again when the connection fails.
 *
 * A test compares those with the method GET with the server, which answers HEAD for them. `events`, which has no end, is
 * the exception.
 */
export const READS: ReadonlySet<Operation> = new Set<Operation>([
    "beginPasskeySignIn",
    "categorySearch",
    "checkAdmin",
    "docs",
    "domainSearch",
    "events",
    "exportAudit",
    "exportPosts",
    "exportSources",
    "getAdmins",
    "getAllFeedback",
    "getAllNotice",
    "getAnalysis",
    "getAnalysisOfDays",
    "getAudit",
    "getBlacklist",
    "getCategories",
    "getDevice",
    "getEmail",
    "getEverydayAnalysisDaysAgo",
    "getFeedWeights",
    "getFeedback",
    "getInvitations",
    "getKeys",
    "getLog",
    "getLogDate",
    "getLogUser",
    "getLogUserDate",
    "getMails",
    "getMainInfo",
    "getMember",
    "getMemberLists",
    "getMemberRole",
    "getMemberSessions",
    "getMemberSignIns",
    "getMembers",
    "getMyData",
    "getNewsfeedOfSource",
    "getNewsfeedOfTopic",
    "getNoticeDrafts",
    "getNoticeReads",
    "getNotices",
    "getOtp",
    "getPasskeys",
    "getPopularityNewsfeed",
    "getPost",
    "getPosts",
    "getRecommendationNewsfeed",
    "getReport",
    "getRoster",
    "getSearchBursts",
    "getSearchRealtime",
    "getSessions",
    "getSimilarityWords",
    "getSource",
    "getSources",
    "getSpecificUserinfo",
    "getStatus",
    "getTopicNewsfeed",
    "getUserLatelySearch",
    "getUserinfo",
    "getWebhookDeliveries",
    "getWebhooks",
    "healthz",
    "home",
    "openapiJson",
    "prioritySearch",
    "readyz",
    "reports",
    "reportsFile",
    "specificDays",
    "verifyAudit",
]);

/** The first wait between two attempts, in milliseconds; each further one is twice as long. */
const FIRST_WAIT = 250;
/** The longest wait between two attempts, unless the server asks for more, in milliseconds. */
const LONGEST_WAIT = 8_000;
/** The random part of a wait that the server asks for, in milliseconds, so that not all clients return at once. */
const SPREAD = 250;
/**
 * The time in milliseconds after which `overloaded` no longer says that nothing was changed: a server that loses its
 * database during a write answers so after 30 seconds, without knowing the outcome.
 */
const CERTAIN_WITHIN = 25_000;

/**
 * Returns the milliseconds to wait before an operation is sent again, or `undefined` if it must not be.
 *
 * An operation is sent again if the server says that it has changed nothing (429 and 503), and an operation that only
 * reads also if the connection fails.
 */
export function waitBeforeRetry(error: unknown, attempt: number, took: number): number | undefined {
    if (error instanceof TidingsError) {
        const isRefused = error.code === "too_many_requests" || error.code === "overloaded";
        if (!isRefused || !(READS.has(error.operation) || took < CERTAIN_WITHIN)) {
            return undefined;
        }
        const asked = (error.retryAfter ?? 0) * 1_000 + Math.random() * SPREAD;
        return Math.max(asked, backOff(attempt));
    }
    return error instanceof ConnectionError && READS.has(error.operation) ? backOff(attempt) : undefined;
}

/** Returns the wait after an attempt, from 0: random, so that clients that failed together do not return together. */
export function backOff(attempt: number, first = FIRST_WAIT, longest = LONGEST_WAIT): number {
    return Math.min(longest, first * 2 ** attempt) * (0.5 + Math.random() / 2);
}
