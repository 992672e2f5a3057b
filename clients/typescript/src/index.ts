// A typed client of the tidings HTTP API. See docs/client.md of tidings.

export { Tidings, type Settings } from "./client.js";
export { ConnectionError, TidingsError, attempt, isFailure, type OperationError } from "./errors.js";
export type {
    AddressInput, Answer, CallOptions, EventName, Failure, Feed, Input, LiveEvent, LiveEvents, LiveOpened, Notice, Operation,
    Post, Schemas, Success,
} from "./types.js";
