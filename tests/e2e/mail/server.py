"""A mail server that prints each mail as a line of JSON, and its port first.

Arguments: plain, starttls or tls; a directory with cert.pem and key.pem; milliseconds before it answers that it has taken a mail.
With encryption it needs the user "tidings" with the password "sesame".
"""

import asyncio
import email
import email.policy
import json
import ssl
import sys

from aiosmtpd.smtp import SMTP, AuthResult

mode, directory, delay = sys.argv[1], sys.argv[2], int(sys.argv[3])


class Handler:
    async def handle_RCPT(self, server, session, envelope, address, options):
        if "@missing." in address:
            print(json.dumps({"refused": address}), flush=True)
            return f"550 no mailbox {address}"
        envelope.rcpt_tos.append(address)
        return "250 taken"

    async def handle_DATA(self, server, session, envelope):
        message = email.message_from_bytes(envelope.content, policy=email.policy.default)
        part = lambda kind: message.get_body((kind,)).get_content()
        mail = {
            "to": envelope.rcpt_tos,
            "from": str(message["from"]),
            "subject": str(message["subject"]),
            "id": str(message["message-id"]),
            "automatic": str(message["auto-submitted"]),
            "text": part("plain"),
            "html": part("html"),
            "encrypted": session.ssl is not None or mode == "tls",
            "user": (session.auth_data or b"").decode(),
        }
        print(json.dumps(mail), flush=True)
        await asyncio.sleep(delay / 1000)
        return "250 taken"


def authenticate(server, session, envelope, mechanism, data):
    right = (data.login, data.password) == (b"tidings", b"sesame")
    return AuthResult(success=right, handled=False, auth_data=data.login)


async def main():
    options = {"enable_SMTPUTF8": False}
    tls = None
    if mode != "plain":
        tls = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
        tls.load_cert_chain(f"{directory}/cert.pem", f"{directory}/key.pem")
        options |= {"authenticator": authenticate, "auth_required": True}
    if mode == "starttls":
        options |= {"tls_context": tls, "require_starttls": True}
    else:
        # It does not know that the connection is encrypted from its start.
        options |= {"auth_require_tls": False}
    loop = asyncio.get_running_loop()
    make = lambda: SMTP(Handler(), loop=loop, **options)
    server = await loop.create_server(make, "127.0.0.1", 0, ssl=tls if mode == "tls" else None)
    print(server.sockets[0].getsockname()[1], flush=True)
    await server.serve_forever()


asyncio.run(main())
