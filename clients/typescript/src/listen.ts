import { Deadline, sleep } from "./deadline.js";
import { ConnectionError, TidingsError } from "./errors.js";
import { FrameReader } from "./frames.js";
import { backOff } from "./retry.js";
import type { LiveEvent, LiveEvents } from "./types.js";

/** The time without a byte after which a connection counts as lost, in milliseconds. The server sends one every 20 s. */
const SILENCE_MAX = 45_000;
/** The longest wait before another connection, unless the server asks for more, in milliseconds. */
const LONGEST_WAIT = 30_000;
/** The wait before another connection, if the server does not set it, in milliseconds. */
const FIRST_WAIT = 3_000;

/** Opens the stream after the event with the id `lastId`; the signal ends it. */
type Connect = (lastId: string, signal: AbortSignal, isFirst: boolean) => Promise<Response>;

/**
 * Listens, and connects again whenever the connection is lost, or silent for `silence` milliseconds. Fails if the first
 * connection does.
 */
export async function* listen(
    connect: Connect,
    lastId: string,
    signal: AbortSignal | undefined,
    silence = SILENCE_MAX,
): LiveEvents {
    const reader = new FrameReader(lastId);
    let isFirst = true;
    for (let failures = 0; ; failures++) {
        // Follows the caller's signal, and ends with this connection.
        const connection = new Deadline(signal, Infinity);
        let asked = 0;
        try {
            const response = await connect(reader.lastId, connection.signal, isFirst);
            if (isFirst) {
                isFirst = false;
                yield { event: "open", data: null, id: reader.lastId };
            }
            for await (const text of texts(response, connection, silence)) {
                failures = 0;
                for (const { event, data, id } of reader.read(text)) {
                    // The document describes the data of each event, and the server's tests compare every event with it.
                    yield { event, data: JSON.parse(data), id } as LiveEvent;
                }
            }
        } catch (error) {
            if (signal?.aborted) {
                throw signal.reason;
            }
            if (isFirst || !isPassing(error)) {
                throw error;
            }
            asked = error instanceof TidingsError ? (error.retryAfter ?? 0) * 1_000 : 0;
        } finally {
            connection.abort(new DOMException("the listener has ended", "AbortError"));
        }
        // A line that the connection did not finish is sent again.
        reader.restart();
        await sleep(Math.max(asked, backOff(failures, reader.retry ?? FIRST_WAIT, LONGEST_WAIT)), signal);
    }
}

/** Returns whether another connection can succeed later. */
function isPassing(error: unknown): boolean {
    if (error instanceof TidingsError) {
        return error.status === 429 || error.status >= 500;
    }
    return error instanceof ConnectionError || (error instanceof DOMException && error.name === "TimeoutError");
}

/** Reads the text of a response. Aborts the connection if it is silent for too long. */
async function* texts(
    response: Response,
    connection: Deadline,
    silence: number,
): AsyncGenerator<string, void, undefined> {
    const body = response.body?.getReader();
    const decoder = new TextDecoder();
    for (;;) {
        const silent = () => connection.abort(new ConnectionError("events", "the server is silent"));
        const timer = setTimeout(silent, silence);
        try {
            const part = await body?.read();
            if (part === undefined || part.done) {
                return;
            }
            yield decoder.decode(part.value, { stream: true });
        } catch (cause) {
            throw new ConnectionError("events", "the connection was lost", { cause });
        } finally {
            clearTimeout(timer);
        }
    }
}
