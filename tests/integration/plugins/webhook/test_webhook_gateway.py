"""The gateway for any HTTP endpoint, on a real connection with TLS, and what a process of it imports."""

from __future__ import annotations

import ssl
import subprocess
import sys

import pytest

import hookrouter_webhook
from hookrouter.messaging.gateway import Message
from support.endpoint import Endpoint
from support.tabled_gateway import TabledGateway
from support.tls import Pair, made_pair

MESSAGE = Message("question", "a", "web", "my session", "sid", "toolu_1", "Claude asks", "go", "17-1-0", "2026-11-21")


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> Pair:
    """Return a self-signed certificate for 127.0.0.1, with its key."""
    return made_pair(tmp_path_factory.mktemp("tls"))


def test_certificates_are_checked(certificate: Pair) -> None:
    gateway = TabledGateway(hookrouter_webhook.gateway())
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate.certificate, certificate.key)
    with Endpoint(context=context) as endpoint:
        table = {"url": f"{endpoint.origin}/hook"}
        refused = gateway.deliver(MESSAGE, table)
        assert (refused.delivered, refused.retry) == (False, True)
        assert refused.reason.startswith(f"{endpoint.origin}: its certificate is not trusted: self")
        assert endpoint.requests == []

        assert gateway.deliver(MESSAGE, {**table, "ca_file": str(certificate.certificate)}).delivered

    none = certificate.certificate.with_name("none")
    assert gateway.check({"url": "https://127.0.0.1:1", "ca_file": str(none)}) == [f"ca_file: {none} is not a file"]


def test_requests_is_not_imported_before_a_message_is_sent() -> None:
    script = (
        "import sys; from hookrouter_webhook import gateway;"
        "from hookrouter._plugins.gateway_settings import read_gateway_settings as read;"
        "read(gateway(), 'g', {'url': 'https://example.org'}); assert 'requests' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", script], check=True)
