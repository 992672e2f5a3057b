/** The longest time that `setTimeout` can wait, in milliseconds. */
const LONGEST_TIMER = 2 ** 31 - 1;

/** The caller's signal and a time limit as one signal. */
export class Deadline {
    readonly #controller = new AbortController();
    readonly #outer: AbortSignal | undefined;
    readonly #timer: ReturnType<typeof setTimeout> | undefined;
    readonly #end: number;

    /** Begins a time limit in milliseconds; `Infinity` is none. */
    constructor(outer: AbortSignal | undefined, limit: number) {
        this.#outer = outer;
        this.#end = Date.now() + limit;
        if (outer?.aborted) {
            this.#follow();
            return;
        }
        outer?.addEventListener("abort", this.#follow);
        if (limit <= LONGEST_TIMER) {
            const late = () => this.abort(new DOMException(`no answer within ${limit} ms`, "TimeoutError"));
            this.#timer = setTimeout(late, limit);
        }
    }

    /** The signal: it is aborted when the caller's is, when the time is over, or by `abort`. */
    get signal(): AbortSignal {
        return this.#controller.signal;
    }

    /** The rest of the time, in milliseconds. */
    get rest(): number {
        return this.#end - Date.now();
    }

    /** Aborts the signal. */
    abort(reason: unknown): void {
        this.end();
        this.#controller.abort(reason);
    }

    /** Ends the time limit. The caller's signal still aborts what has begun. */
    endLimit(): void {
        clearTimeout(this.#timer);
    }

    /** Ends the time limit, and no longer follows the caller's signal. */
    end(): void {
        this.endLimit();
        this.#outer?.removeEventListener("abort", this.#follow);
    }

    readonly #follow = (): void => this.abort(this.#outer?.reason);
}

/** Waits; throws the reason of the signal when that is aborted. */
export function sleep(milliseconds: number, signal: AbortSignal | undefined): Promise<void> {
    return new Promise((resolve, reject) => {
        if (signal?.aborted) {
            reject(signal.reason);
            return;
        }
        const aborted = () => {
            clearTimeout(timer);
            reject(signal?.reason);
        };
        const done = () => {
            signal?.removeEventListener("abort", aborted);
            resolve();
        };
        const timer = setTimeout(done, milliseconds);
        signal?.addEventListener("abort", aborted, { once: true });
    });
}
