import { OPERATIONS } from "./table.js";
import type { Answer, Failure, Operation, Success } from "./types.js";

/** The codes of all failures. */
type Code = Failure<Operation>["code"];

/** The server answered that the operation was not done. */
export class TidingsError extends Error {
    override readonly name: string = "TidingsError";
    /** The operation: the name of its method. */
    readonly operation: Operation;
    /** The text of the interface: what went wrong, as existing clients compare it. */
    readonly result: Failure<Operation>["result"];
    /** The condition. A condition has one code in all operations; a later server may know more codes. */
    readonly code: Code;
    /** The field or the parameter at fault, if there is one. */
    readonly field: string | undefined;
    /** The HTTP status; 200 for a failure that the interface documents for the operation. */
    readonly status: number;
    /** The seconds after which another attempt can succeed, if the server said so. */
    readonly retryAfter: number | undefined;
    /** The whole answer. */
    readonly answer: Failure<Operation>;

    /** Makes the error of an answer. Its `message` is that of the answer, for people. */
    constructor(operation: Operation, answer: Failure<Operation>, status: number, retryAfter: number | undefined) {
        super(answer.message ?? answer.result);
        this.operation = operation;
        this.result = answer.result;
        this.code = answer.code;
        this.field = answer.field;
        this.status = status;
        this.retryAfter = retryAfter;
        this.answer = answer;
    }

    /**
     * Whether the operation needs a token, and there was none or it has expired or was revoked: the member has to sign in.
     *
     * The text and the status of this condition are those that the interface documents for each operation: `bad token`,
     * `not found`, `No member`, `Not found`, `bad request` or `Not admin`. The code is always the same.
     */
    get sessionEnded(): boolean {
        return this.code === "bad_token";
    }
}

/** The type of a field of all members of a union. */
type Field<A, Name extends string> = A extends Record<Name, infer Value> ? Value : never;

/** The failure of an operation, as a method throws it: a `TidingsError` with the texts and codes of this operation. */
export type OperationError<O extends Operation> = TidingsError & {
    readonly operation: O;
    readonly result: Field<Failure<O>, "result">;
    readonly code: Field<Failure<O>, "code">;
    readonly answer: Failure<O>;
};

/**
 * There is no answer of the server: the connection failed or broke, or something else answered, such as a proxy.
 *
 * Whether the operation was done is unknown. Operations that only read have been tried again before.
 */
export class ConnectionError extends Error {
    override readonly name: string = "ConnectionError";
    /** The operation: the name of its method. */
    readonly operation: Operation;
    /** The HTTP status of an answer that is not one of the server. */
    readonly status: number | undefined;

    /** Makes the error; `cause` is what `fetch` threw. */
    constructor(operation: Operation, message: string, options: { status?: number; cause?: unknown } = {}) {
        super(message, "cause" in options ? { cause: options.cause } : undefined);
        this.operation = operation;
        this.status = options.status;
    }
}

/** Returns whether an error is the failure of this operation, whose texts and codes are then known to the compiler. */
export function isFailure<O extends Operation>(error: unknown, operation: O): error is OperationError<O> {
    return error instanceof TidingsError && error.operation === operation;
}

/**
 * Returns the success or the failure of a call, for callers that expect failures and want the compiler to know them:
 *
 *     const answer = await attempt(tidings.signIn({ id, pw }));
 *     if (answer.result === "success") …            // answer.access_token
 *     else if (answer.code === "wrong_password") …  // answer.message, answer.field
 *
 * Connection failures, timeouts and aborts are thrown: they are no answers.
 */
export async function attempt<O extends Operation>(call: Answer<O>): Promise<Success<O> | OperationError<O>> {
    try {
        return await call;
    } catch (error) {
        if (error instanceof TidingsError) {
            // The promise of a method is rejected with failures of its own operation only.
            return error as OperationError<O>;
        }
        throw error;
    }
}

/** Returns the failure that a response reports, or `undefined` if it is a success or no answer of the server. */
export function failureOf(operation: Operation, response: Response, body: unknown): TidingsError | undefined {
    if (!isObject(body) || typeof body["result"] !== "string" || body["result"] === "success") {
        return undefined;
    }
    if (response.ok && OPERATIONS[operation].answers !== "result") {
        return undefined;
    }
    // The document describes the failures of the operation, and the server's tests compare every response with it.
    return new TidingsError(operation, body as Failure<Operation>, response.status, retryAfter(response.headers));
}

/** Returns whether a value is an object. */
export function isObject(value: unknown): value is Record<string, unknown> {
    return typeof value === "object" && value !== null && !Array.isArray(value);
}

/**
 * Returns the seconds of `Retry-After`, which is a number or a date.
 *
 * Source: RFC 9110 section 10.2.3.
 */
export function retryAfter(headers: Headers): number | undefined {
    const value = headers.get("retry-after")?.trim();
    if (value === undefined || value === "") {
        return undefined;
    }
    if (/^\d+$/.test(value)) {
        return Number(value);
    }
    const date = Date.parse(value);
    return Number.isNaN(date) ? undefined : Math.max(0, Math.ceil((date - Date.now()) / 1000));
}
