"""The probes of the page, as a load balancer sends them: without a login, a user or the page's name."""

from __future__ import annotations

from pathlib import Path

import pytest

from hookrouter.testing import wait_until
from support.monitor import Said, get
from support.page import Home
from support.ports import free_port
from support.resident import Resident

READY = {"ready": True, "router": "answers", "state": "writable", "engine": "files"}


@pytest.mark.parametrize("method", ["GET", "HEAD"])
def test_probes_pass_the_guard_and_nothing_else_does(tmp_path: Path, method: str) -> None:
    port = free_port()
    home = Home(tmp_path)
    (tmp_path / "config.toml").write_text(f'[page]\naddress = "0.0.0.0:{port}"\nuser_header = "X-User"\n')
    with Resident(home.environ):
        base, pod = f"http://127.0.0.1:{port}", {"Host": "10.1.2.3:8790"}
        live = get(f"{base}/healthz", pod, method)
        assert live == Said(200, "" if method == "HEAD" else "ok\n")
        ready = get(f"{base}/readyz", pod, method)
        assert ready.status == 200
        if method == "GET":
            assert ready.document == READY
            assert get(f"{base}/readyz?engine=required", pod).status == 200
        for path in ("/", "/healthz/", "/metrics", "/health", "//healthz"):
            assert get(f"{base}{path}", pod, method).status == 421
        assert get(f"{base}/healthz", pod, "POST").status == 421
        assert get(f"{base}/healthz?x=1", {**pod, "X-User": ""}, method).status == 200


def test_a_router_that_hangs_is_told(tmp_path: Path) -> None:
    import signal

    home = Home(tmp_path)
    with Resident(home.environ) as router:
        base = f"http://{home.address}"
        assert get(f"{base}/healthz").status == 200
        router.send_signal(signal.SIGSTOP)
        wait_until(lambda: get(f"{base}/readyz").status == 503, 20, "that it is not ready")
        assert get(f"{base}/readyz").document == {**READY, "ready": False, "router": "silent"}
        assert get(f"{base}/healthz").status == 200
        router.send_signal(signal.SIGCONT)
        wait_until(lambda: get(f"{base}/readyz").status == 200, 20, "that it is ready")
