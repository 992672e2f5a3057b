import { Deadline, sleep } from "./deadline.js";
import { ConnectionError, TidingsError, failureOf, isObject } from "./errors.js";
import { listen } from "./listen.js";
import { Operations } from "./operations.js";
import { address, requestOf, type Request } from "./request.js";
import { waitBeforeRetry } from "./retry.js";
import { OPERATIONS } from "./table.js";
import type {
    AddressInput, Answer, CallOptions, Feed, GetOperation, Input, LiveEvents, Operation, Post, Success,
} from "./types.js";

/** The time limit of a call, in milliseconds. */
const TIMEOUT = 30_000;
/** The maximum number of retries of a call. */
const RETRIES = 2;
/** The number of posts that an iterator requests at a time. */
const PAGE_SIZE = 50;

/** The settings of a client. */
export interface Settings {
    /** The address of the server, with the base path if it has one. A page may use a relative address. */
    readonly url: string | URL;
    /** The access token of a member, as it was stored; none if it is empty. */
    readonly token?: string | undefined;
    /** Sends the requests; that of the platform by default. */
    readonly fetch?: typeof globalThis.fetch;
    /** The time limit of a call with its retries, in milliseconds; 30,000 by default, `Infinity` for none. */
    readonly timeout?: number;
    /** The maximum number of retries of a call; 2 by default. */
    readonly retries?: number;
    /**
     * Called when a call changes the token, to store it: after `signUp`, `signUpInvited`, `signIn`, `signInUp`, `signInOidc`,
     * `signInPasskey` and `changePw` with the new one; with `undefined` after `signOutAll` and `removeMine`, and when the session has
     * ended.
     */
    readonly onToken?: (token: string | undefined) => void;
    /**
     * Called once when the server refuses the token, whichever operation notices it: it has expired or was revoked. The
     * client then has no token, and the call throws the error as well.
     */
    readonly onSessionEnded?: (error: TidingsError) => void;
}

/**
 * A client of a tidings server. Every operation is a method, which returns the successful answer and throws a
 * `TidingsError` otherwise.
 */
export class Tidings extends Operations {
    /** The address of the server, without a slash at the end. */
    readonly url: string;
    #token: string | undefined;
    readonly #settings: Settings;

    /** Makes a client, which sends nothing yet. Throws a `TypeError` for an address or a token that no request can have. */
    constructor(settings: Settings) {
        super();
        this.url = String(settings.url).replace(/\/+$/, "");
        // Throws for what is no address; a page may use a relative one.
        new URL(this.url, globalThis.location?.href);
        this.#token = checked(settings.token);
        this.#settings = settings;
    }

    /** The token that is sent with each request. */
    get token(): string | undefined {
        return this.#token;
    }

    /** Signs a member in whose token the app has stored, or out on this device only. */
    set token(token: string | undefined) {
        this.#token = checked(token);
    }

    /** Returns the popular posts, one after the other. Requests `limit` posts at a time, each page when it is needed. */
    popularPosts(input: Input<"getPopularityNewsfeed"> = {}, options?: CallOptions): AsyncGenerator<Post, void, undefined> {
        return this.posts("getPopularityNewsfeed", input, options);
    }

    /** Returns the posts recommended to the member, or to a guest, one after the other, like `popularPosts`. */
    recommendedPosts(
        input: Input<"getRecommendationNewsfeed"> = {},
        options?: CallOptions,
    ): AsyncGenerator<Post, void, undefined> {
        return this.posts("getRecommendationNewsfeed", input, options);
    }

    /** Returns the posts of a topic or with a tag, newest first, one after the other, like `popularPosts`. */
    postsOfTopic(input: Input<"getNewsfeedOfTopic">, options?: CallOptions): AsyncGenerator<Post, void, undefined> {
        return this.posts("getNewsfeedOfTopic", input, options);
    }

    /**
     * Returns the posts of a feed, one after the other.
     *
     * Posts neither repeat nor are skipped while ranks move. A page that is requested more than ten minutes after the first
     * one fails with the code `next_expired`.
     */
    async *posts<F extends Feed>(feed: F, input: Input<F>, options?: CallOptions): AsyncGenerator<Post, void, undefined> {
        // Only an import takes something else than an object.
        let page: object = { limit: PAGE_SIZE, ...(input as object) };
        for (;;) {
            // A generic type cannot tell the compiler that all feeds have the same answer.
            const { newsfeed, next }: Success<Feed> = await this.call<Feed>(feed, page as Input<Feed>, options);
            yield* newsfeed;
            if (next === null) {
                return;
            }
            page = { ...page, next };
        }
    }

    /** Returns the address of an operation, for links: `address("getPopularityNewsfeed", { format: "atom" })`. */
    address<O extends GetOperation>(
        operation: O,
        ...input: Record<never, never> extends AddressInput<O> ? [AddressInput<O>?] : [AddressInput<O>]
    ): string {
        return address(this.url, operation, input[0] ?? {})[0];
    }

    protected override call<O extends Operation>(
        operation: O,
        input: Input<O> | undefined,
        options: CallOptions | undefined,
    ): Answer<O> {
        return this.#call(operation, input, options);
    }

    protected override listen(input: Input<"events"> | undefined, options: CallOptions = {}): LiveEvents {
        const { last_event_id: lastId = "", ...rest } = input ?? {};
        const request = requestOf(this.url, "events", rest);
        const connect = async (id: string, signal: AbortSignal, isFirst: boolean) => {
            const headers = id === "" ? request.headers : { ...request.headers, "Last-Event-ID": id };
            // Later connections are tried again without end by the listener itself.
            const limits = { ...options, signal, ...(isFirst ? {} : { retries: 0 }) };
            return await this.#attempts({ ...request, headers }, limits, async (response) => {
                if (response.ok && response.headers.get("content-type")?.startsWith("text/event-stream") === true) {
                    return response;
                }
                return await this.#refuse(request, response);
            });
        };
        return listen(connect, lastId, options.signal);
    }

    async #call<O extends Operation>(operation: O, input: unknown, options: CallOptions = {}): Promise<Success<O>> {
        const request = requestOf(this.url, operation, input);
        const sent = this.#token;
        const answer = await this.#attempts(request, options, (response) => this.#read(request, response));
        if (isObject(answer) && typeof answer["access_token"] === "string") {
            this.#keep(answer["access_token"]);
        } else if ((operation === "signOutAll" || operation === "removeMine") && sent === this.#token) {
            this.#keep(undefined);
        }
        // The document describes the answer, and the server's tests compare every response with it.
        return answer as Success<O>;
    }

    /** Sends a request until it succeeds, must not be sent again, or its time is over. */
    async #attempts<T>(request: Request, options: CallOptions, read: (response: Response) => Promise<T>): Promise<T> {
        const token = this.#token;
        const retries = options.retries ?? this.#settings.retries ?? RETRIES;
        const deadline = new Deadline(options.signal, options.timeout ?? this.#settings.timeout ?? TIMEOUT);
        try {
            for (let attempt = 0; ; attempt++) {
                const began = Date.now();
                try {
                    return await this.#send(request, token, deadline.signal, read);
                } catch (error) {
                    const wait = waitBeforeRetry(error, attempt, Date.now() - began);
                    if (wait === undefined || attempt >= retries || wait > deadline.rest) {
                        throw error;
                    }
                    await sleep(wait, deadline.signal);
                }
            }
        } catch (error) {
            if (error instanceof TidingsError && error.sessionEnded && token !== undefined && token === this.#token) {
                this.#keep(undefined);
                this.#settings.onSessionEnded?.(error);
            }
            throw error;
        } finally {
            if (OPERATIONS[request.operation].answers === "events") {
                // The stream has no time limit, and goes on after this.
                deadline.endLimit();
            } else {
                deadline.end();
            }
        }
    }

    async #send<T>(
        request: Request,
        token: string | undefined,
        signal: AbortSignal,
        read: (response: Response) => Promise<T>,
    ): Promise<T> {
        const { operation, url, method, body } = request;
        const headers = token === undefined ? request.headers : { ...request.headers, Authorization: `Bearer ${token}` };
        const fetch = this.#settings.fetch ?? globalThis.fetch;
        signal.throwIfAborted();
        try {
            return await read(await fetch(url, { method, headers, signal, ...(body === undefined ? {} : { body }) }));
        } catch (cause) {
            signal.throwIfAborted();
            if (cause instanceof TidingsError || cause instanceof ConnectionError) {
                throw cause;
            }
            throw new ConnectionError(operation, `${operation}: the connection to the server failed`, { cause });
        }
    }

    /** Returns the successful answer of a response. */
    async #read(request: Request, response: Response): Promise<unknown> {
        const { answers } = OPERATIONS[request.operation];
        if (!response.ok) {
            return await this.#refuse(request, response);
        }
        if (answers === "page" || answers === "lines") {
            if (!response.headers.has("Tidings-Result")) {
                throw unknownAnswer(request.operation, response);
            }
            return await response.text();
        }
        const body = parse(await response.text());
        const failure = failureOf(request.operation, response, body);
        if (failure !== undefined) {
            throw failure;
        }
        if (isObject(body) && (answers !== "result" || body["result"] === "success")) {
            return body;
        }
        throw unknownAnswer(request.operation, response);
    }

    /** Throws the error of a response that is not a success. */
    async #refuse(request: Request, response: Response): Promise<never> {
        const body = parse(await response.text());
        throw failureOf(request.operation, response, body) ?? unknownAnswer(request.operation, response);
    }

    #keep(token: string | undefined): void {
        this.#token = token;
        this.#settings.onToken?.(token);
    }
}

/** Returns the token, or `undefined` for none. Throws a `TypeError` if no header can have it. */
function checked(token: string | undefined): string | undefined {
    if (token && !/^[\x21-\x7e]+$/.test(token)) {
        throw new TypeError("a token has visible characters of ASCII only");
    }
    return token || undefined;
}

/** Returns the value of JSON, or `undefined` if the text is none. */
function parse(text: string): unknown {
    try {
        return JSON.parse(text) as unknown;
    } catch {
        return undefined;
    }
}

function unknownAnswer(operation: Operation, response: Response): ConnectionError {
    const { status } = response;
    return new ConnectionError(operation, `${operation}: status ${status} without an answer of tidings`, { status });
}
