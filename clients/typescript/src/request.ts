import { isObject } from "./errors.js";
import { OPERATIONS } from "./table.js";
import type { Operation } from "./types.js";

/** A request of an operation, without what differs between its attempts. */
export interface Request {
    readonly operation: Operation;
    readonly url: string;
    readonly method: string;
    readonly headers: Record<string, string>;
    readonly body: string | undefined;
}

/** Returns the request of an operation below `base`. */
export function requestOf(base: string, operation: Operation, input: unknown): Request {
    const { method, answers } = OPERATIONS[operation];
    const [url, rest] = address(base, operation, input);
    const accept = { result: "application/json", json: "application/json", lines: "application/x-ndjson", page: "text/html", events: "text/event-stream" };
    const headers: Record<string, string> = { Accept: accept[answers] };
    if (method === "GET") {
        return { operation, url, method, headers, body: undefined };
    }
    if (typeof rest === "string") {
        headers["Content-Type"] = "text/csv";
        return { operation, url, method, headers, body: rest };
    }
    headers["Content-Type"] = "application/json";
    return { operation, url, method, headers, body: JSON.stringify(rest) };
}

/** Returns the address of an operation, and what remains of the input for its body. */
export function address(base: string, operation: Operation, input: unknown): [string, unknown] {
    const { path, query } = OPERATIONS[operation];
    if (!isObject(input)) {
        return [base + path, input ?? {}];
    }
    const rest = { ...input };
    const take = (name: string): unknown => {
        const value = rest[name];
        delete rest[name];
        return value;
    };
    const filled = path.replace(/\{(\w+)\}/g, (_, name: string) => segment(name, take(name)));
    const parameters = new URLSearchParams();
    for (const name of query) {
        const value = take(name);
        if (value !== undefined && value !== null) {
            // An array becomes a list with commas.
            parameters.set(name, String(value));
        }
    }
    const search = parameters.toString();
    return [base + filled + (search === "" ? "" : `?${search}`), rest];
}

/** Returns a parameter as a segment of a path. */
function segment(name: string, value: unknown): string {
    const text = String(value ?? "");
    // Addresses have no such segments: `fetch` would request another path, that of another operation.
    if (text === "" || text === "." || text === "..") {
        throw new TypeError(`${name} is ${text === "" ? "missing" : `"${text}", which cannot be a part of an address`}`);
    }
    return encodeURIComponent(text);
}
