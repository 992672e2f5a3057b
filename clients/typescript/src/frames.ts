/** An event of a stream, as it was sent. */
export interface Frame {
    readonly event: string;
    readonly data: string;
    /** The place after the event. */
    readonly id: string;
}

/**
 * Reads server-sent events from pieces of text.
 *
 * Source: WHATWG HTML, section 9.2.6.
 */
export class FrameReader {
    /** The id of the last event or heartbeat: where a new connection continues. */
    lastId: string;
    /** The time that the server asks a client to wait before it connects again, in milliseconds. */
    retry: number | undefined;
    #rest = "";
    #event = "";
    #data: string[] = [];
    #id: string;

    /** Begins a stream after the event with this id. */
    constructor(lastId: string) {
        this.lastId = lastId;
        this.#id = lastId;
    }

    /** Reads more of the stream, and returns the events that are complete. */
    read(text: string): Frame[] {
        this.#rest += text;
        const frames: Frame[] = [];
        for (;;) {
            const end = this.#rest.search(/[\r\n]/);
            // The line feed of a `\r\n` may be in the next piece.
            if (end < 0 || (this.#rest[end] === "\r" && end + 1 === this.#rest.length)) {
                return frames;
            }
            const line = this.#rest.slice(0, end);
            this.#rest = this.#rest.slice(this.#rest.startsWith("\r\n", end) ? end + 2 : end + 1);
            const frame = line === "" ? this.#finish() : this.#field(line);
            if (frame !== undefined) {
                frames.push(frame);
            }
        }
    }

    /** Forgets what a lost connection has sent of an unfinished event. */
    restart(): void {
        this.#rest = "";
        this.#event = "";
        this.#data = [];
        this.#id = this.lastId;
    }

    /** Ends an event at an empty line. One without data only sets the place. */
    #finish(): Frame | undefined {
        this.lastId = this.#id;
        const [event, data] = [this.#event, this.#data];
        this.#event = "";
        this.#data = [];
        return data.length === 0 ? undefined : { event, data: data.join("\n"), id: this.lastId };
    }

    #field(line: string): undefined {
        const colon = line.indexOf(":");
        const name = colon < 0 ? line : line.slice(0, colon);
        const value = colon < 0 ? "" : line.slice(colon + 1).replace(/^ /, "");
        if (name === "event") {
            this.#event = value;
        } else if (name === "data") {
            this.#data.push(value);
        } else if (name === "id" && !value.includes("\0")) {
            this.#id = value;
        } else if (name === "retry" && /^\d+$/.test(value)) {
            this.retry = Number(value);
        }
    }
}
