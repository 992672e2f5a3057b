// The types of inputs and answers, all derived from the OpenAPI document.

import type { components, operations } from "./generated.js";
import type { OPERATIONS } from "./table.js";

type Table = typeof OPERATIONS;

/** The name of an operation, which is that of its method. */
export type Operation = keyof Table;

/** The schemas of the document by name, for example `Schemas["Post"]`. */
export type Schemas = components["schemas"];

/** A post, as feeds return it. */
export type Post = Schemas["Post"];

/** A notice. */
export type Notice = Schemas["Notice"];

/** What the document says about an operation. */
type Described<O extends Operation> = operations[Table[O]["id"]];

/** An object type, written out. */
type Flat<T> = { [K in keyof T]: T[K] };

/** The type of some parameters or fields; that of an empty object if there are none. */
type Given<T> = [NonNullable<T>] extends [never] ? unknown : NonNullable<T>;

/** The JSON of a request or a response. */
type Json<T> = T extends { content: { "application/json": infer Body } } ? Body : never;

/** The text of a request that is CSV. */
type Csv<T> = T extends { content: { "text/csv": infer Body } } ? Body : never;

type Path<O extends Operation> = Given<Described<O>["parameters"]["path"]>;
type Query<O extends Operation> = Given<Described<O>["parameters"]["query"]>;
type Body<O extends Operation> = Described<O> extends { requestBody: infer Request } ? Given<Json<Request> | Csv<Request>> : unknown;

/** The names of live events. */
export type EventName = Exclude<keyof Schemas["LiveEvents"], "reset">;

/**
 * What an operation takes: the parameters of its path, those of its query and the fields of its body in one object. For
 * an import such as `importPosts` it is the array, and for `importRoster` the text of CSV.
 *
 * `format` is missing: methods return objects. `Tidings.address` returns the address of a feed in another format.
 */
export type Input<O extends Operation> = O extends "events"
    ? Flat<Omit<Query<"events">, "events"> & { readonly events?: readonly EventName[] }>
    : Body<O> extends readonly unknown[] | string
      ? Body<O>
      : Flat<Path<O> & Omit<Query<O>, "format"> & Body<O>>;

/** The parameters of the address of an operation: those of its path and all of its query. */
export type AddressInput<O extends Operation> = Flat<Path<O> & Query<O>>;

/** An operation with the method GET. */
export type GetOperation = { [O in Operation]: Table[O]["method"] extends "GET" ? O : never }[Operation];

/** The responses of an operation by status. */
type Responses<O extends Operation> = Described<O>["responses"];
type Answered<O extends Operation> = Responses<O> extends { 200: infer Response } ? Json<Response> : never;
type Refused<O extends Operation> = Json<Responses<O>[Exclude<keyof Responses<O>, 200>]>;

/** The members of a union of answers that are failures. */
type Failed<A> = A extends { result: "success" } ? never : A extends { result: string } ? A : never;

type Successes = {
    [O in Operation]: Table[O]["answers"] extends "page" | "lines"
        ? string
        : Table[O]["answers"] extends "json"
          ? Readonly<Record<string, unknown>>
          : Extract<Answered<O>, { result: "success" }>;
};
type Failures = { [O in Operation]: Failed<Answered<O>> | Refused<O> };

/** The answer of a successful operation. */
export type Success<O extends Operation> = Successes[O];

/** The answers of an operation that was not done: a union that `result` and `code` tell apart. */
export type Failure<O extends Operation> = Failures[O];

declare const OPERATION: unique symbol;

/** The promise of a method, which knows its operation, so that `attempt` knows the failures. */
export interface Answer<O extends Operation> extends Promise<Success<O>> {
    /** Exists for the compiler only. */
    readonly [OPERATION]?: O;
}

/** An operation that returns posts page by page. */
export type Feed = {
    [O in Operation]: Success<O> extends { newsfeed: readonly Post[]; next: string | null } ? O : never;
}[Operation];

/** The options of a call. */
export interface CallOptions {
    /** Ends the call, and with it all waiting and iterating. The call then throws the signal's reason. */
    readonly signal?: AbortSignal;
    /** The time limit of the call with its retries, or of each page of a feed, in milliseconds. */
    readonly timeout?: number;
    /** The maximum number of retries; 0 for none. */
    readonly retries?: number;
}

/** A live event. `id` is the place in the stream: `events({ last_event_id: id })` continues after it. */
export type LiveEvent =
    | {
          [Name in keyof Schemas["LiveEvents"]]-?: {
              readonly event: Name;
              readonly data: Schemas["LiveEvents"][Name];
              readonly id: string;
          };
      }[keyof Schemas["LiveEvents"]]
    | LiveOpened;

/** The first event of each iteration: the server sends events from now on, so load the data that they change. */
export interface LiveOpened {
    readonly event: "open";
    readonly data: null;
    readonly id: string;
}

/** Live events, one after the other. */
export type LiveEvents = AsyncGenerator<LiveEvent, void, undefined>;
