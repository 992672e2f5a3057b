// Writes src/generated.ts, src/table.ts and src/operations.ts from the OpenAPI document of the server.
//
//     node scripts/generate.mjs [--check] [DOCUMENT]
//
// DOCUMENT is a file, or `-` for standard input. Without it, the program named by the variable TIDINGS (by default the
// one that `cargo build` makes) prints the document. With --check, nothing is written, and the exit status is 1 if a file
// would change.

import { execFileSync } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { text } from "node:stream/consumers";
import { fileURLToPath } from "node:url";
import openapiTS, { astToString } from "openapi-typescript";

const HEADER = "// Generated from the OpenAPI document by scripts/generate.mjs. Do not edit.\n\n";
const METHODS = ["get", "post", "put", "patch", "delete"];
const JSON_TYPE = "application/json";
const EVENTS_TYPE = "text/event-stream";
const LINES_TYPE = "application/x-ndjson";
const CSV_TYPE = "text/csv";

/** Returns the text of the document. */
async function read(source) {
    if (source === "-") {
        // Reading it at once fails if the other end has not written yet.
        return await text(process.stdin);
    }
    if (source !== undefined) {
        return readFileSync(source, "utf8");
    }
    const built = fileURLToPath(new URL("../../../target/debug/tidings", import.meta.url));
    const options = { encoding: "utf8", maxBuffer: 64 * 1024 * 1024 };
    return execFileSync(process.env.TIDINGS ?? built, ["openapi"], options);
}

/** Returns what src/generated.ts contains: the types of openapi-typescript. */
async function types(document) {
    return HEADER + astToString(await openapiTS(document, { immutable: true }));
}

/** Returns the name of the method of an operation: `get_post` is `getPost`. */
function methodName(id) {
    return id.replace(/_([a-z0-9])/g, (_, letter) => letter.toUpperCase());
}

/** Returns the operations in the order of the document. */
function* operations(document) {
    for (const [path, item] of Object.entries(document.paths)) {
        for (const method of METHODS.filter((method) => method in item)) {
            yield { path, method: method.toUpperCase(), ...item[method] };
        }
    }
}

/** Returns what a successful answer is: an object with `result`, any JSON, events, or the text of lines or of a page. */
function answers(document, operation) {
    const content = operation.responses["200"]?.content ?? {};
    if (EVENTS_TYPE in content) {
        return "events";
    }
    if (LINES_TYPE in content) {
        return "lines";
    }
    if (!(JSON_TYPE in content)) {
        return "page";
    }
    return hasResult(document, content[JSON_TYPE].schema) ? "result" : "json";
}

/** Returns whether a schema requires `result`. */
function hasResult(document, schema) {
    if (schema.$ref !== undefined) {
        return hasResult(document, document.components.schemas[schema.$ref.split("/").at(-1)]);
    }
    const has = (part) => hasResult(document, part);
    return (
        (schema.required?.includes("result") ?? false) ||
        (schema.allOf?.some(has) ?? false) ||
        (schema.oneOf?.every(has) ?? false)
    );
}

/** Returns the parameters of an operation, and fails if two of them have one name, because the input is one object. */
function parameters(document, operation) {
    const named = (place) => (operation.parameters ?? []).filter((p) => p.in === place).map((p) => p.name);
    const [path, query] = [named("path"), named("query")];
    const reference = operation.requestBody?.content[JSON_TYPE]?.schema;
    const body = reference?.$ref ? document.components.schemas[reference.$ref.split("/").at(-1)] : reference;
    const fields = Object.keys(body?.properties ?? {});
    const all = [...path, ...query, ...fields];
    const twice = all.filter((name, index) => all.indexOf(name) !== index);
    if (twice.length > 0) {
        throw new Error(`${operation.operationId} has two inputs named ${twice.join(", ")}`);
    }
    const hasBody = body !== undefined || operation.requestBody?.content[CSV_TYPE] !== undefined;
    const required = path.length > 0 || hasBody;
    return { query, required, none: all.length === 0 && !hasBody };
}

/** Returns the line that documents an operation. */
function line(operation) {
    const who = operation.description?.trim().split(/\n\n/).at(-1) ?? "";
    const summary = operation.summary.replace(/\.$/, "");
    const deprecated = operation.deprecated ? " @deprecated" : "";
    return `${summary}. ${who} \`${operation.method} ${operation.path}\`${deprecated}`.replace(/\s+/g, " ");
}

/** Returns what src/table.ts and src/operations.ts contain: a table of the operations, and their methods. */
function tableAndMethods(document) {
    const table = [];
    const members = [];
    for (const operation of operations(document)) {
        const { operationId: id, method, path } = operation;
        const name = methodName(id);
        const { query, required, none } = parameters(document, operation);
        const answer = answers(document, operation);
        const entry = { id, method, path, query, answers: answer };
        const fields = Object.entries(entry).map(([key, value]) => `${key}: ${JSON.stringify(value)}`);
        table.push(`    ${name}: { ${fields.join(", ")} },`);

        const input = none ? "" : `input${required ? "" : "?"}: Input<"${name}">, `;
        const passed = none ? "undefined" : "input";
        const [result, call] =
            answer === "events"
                ? ["LiveEvents", `listen(${passed}, options)`]
                : [`Answer<"${name}">`, `call("${name}", ${passed}, options)`];
        members.push(
            `    /** ${line(operation)} */\n` +
                `    ${name}(${input}options?: CallOptions): ${result} {\n` +
                `        return this.${call};\n` +
                "    }\n",
        );
    }
    const operationsTable =
        HEADER +
        "/** The operations of the document: for each method its id, how to request it, and what it answers. */\n" +
        `export const OPERATIONS = {\n${table.join("\n")}\n} as const;\n`;
    const classOfMethods =
        HEADER +
        'import type { Answer, CallOptions, Input, LiveEvents, Operation } from "./types.js";\n\n' +
        "/** The methods of all operations. */\n" +
        "export abstract class Operations {\n" +
        "    /** Calls an operation. */\n" +
        "    protected abstract call<O extends Operation>(\n" +
        "        operation: O,\n" +
        "        input: Input<O> | undefined,\n" +
        "        options: CallOptions | undefined,\n" +
        "    ): Answer<O>;\n\n" +
        "    /** Listens to live events. */\n" +
        '    protected abstract listen(input: Input<"events"> | undefined, options: CallOptions | undefined): LiveEvents;\n\n' +
        members.join("\n") +
        "}\n";
    return { "table.ts": operationsTable, "operations.ts": classOfMethods };
}

const args = process.argv.slice(2);
const isCheck = args[0] === "--check";
const document = JSON.parse(await read(args[isCheck ? 1 : 0]));
const files = { "generated.ts": await types(document), ...tableAndMethods(document) };
for (const [name, content] of Object.entries(files)) {
    const file = new URL(`../src/${name}`, import.meta.url);
    if (!isCheck) {
        writeFileSync(file, content);
    } else if (readFileSync(file, "utf8") !== content) {
        console.error(`src/${name} is not what the document gives: run npm run generate`);
        process.exitCode = 1;
    }
}
