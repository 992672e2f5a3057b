// A certified issuer of OpenID Connect. It prints its port once it answers.
//
// Arguments: its port, or 0 for a free one; the address to which it sends people back; the secret of its client "campus".
// People choose who they are: /interaction/UID/SUBJECT signs one of them in. Each start makes new keys.

import http from "node:http";

import { exportJWK, generateKeyPair } from "jose";
import { Provider } from "oidc-provider";

const [port, returns, secret] = process.argv.slice(2);

const people = {
    7301: { name: "Ann Lee", preferred_username: "ann", email: "ann@campus.example", email_verified: true, groups: ["students"] },
    7302: { name: "Ben Kim", preferred_username: "ben", email: "ben@campus.example", email_verified: false, groups: ["students"] },
    7303: { name: "Cy Roh", preferred_username: "cy", email: "cy@campus.example", email_verified: true, groups: ["guests"] },
};

async function key(algorithm) {
    const { privateKey } = await generateKeyPair(algorithm, { extractable: true });
    return { ...(await exportJWK(privateKey)), alg: algorithm, use: "sig" };
}

const server = http.createServer();
await new Promise((listening) => server.listen(Number(port), "127.0.0.1", listening));
const issuer = `http://127.0.0.1:${server.address().port}`;
const provider = new Provider(issuer, {
    clients: [{ client_id: "campus", client_secret: secret, redirect_uris: [returns], grant_types: ["authorization_code"] }],
    jwks: { keys: [await key("RS256"), await key("ES256")] },
    scopes: ["openid", "profile", "email", "groups"],
    claims: { profile: ["name", "preferred_username"], email: ["email", "email_verified"], groups: ["groups"] },
    findAccount: (_, id) => people[id] && { accountId: id, claims: () => ({ sub: id, ...people[id] }) },
    interactions: { url: (_, interaction) => `/interaction/${interaction.uid}` },
    features: { devInteractions: { enabled: false } },
    cookies: { keys: ["a key of this test"] },
    pkce: { required: () => true },
    // Nobody is asked whether the service may know their name.
    async loadExistingGrant({ oidc }) {
        const grant = new oidc.provider.Grant({ accountId: oidc.session.accountId, clientId: oidc.client.clientId });
        grant.addOIDCScope("openid profile email groups");
        await grant.save();
        return grant;
    },
});
const answer = provider.callback();
server.on("request", async (request, response) => {
    const [, first, , subject] = request.url.split("/");
    if (first !== "interaction") {
        answer(request, response);
    } else if (subject === "nobody") {
        await provider.interactionFinished(request, response, { error: "access_denied" });
    } else if (subject) {
        await provider.interactionFinished(request, response, { login: { accountId: subject } });
    } else {
        response.setHeader("content-type", "text/html; charset=utf-8");
        const links = Object.entries(people).map(([id, person]) => `<a href="${request.url}/${id}">${person.name}</a>`);
        response.end(`<!doctype html><title>Sign in</title><h1>Who are you?</h1>${links.join(" ")}`);
    }
});
console.log(server.address().port);
