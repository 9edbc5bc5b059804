"""Certificates for tests, made by the command ``openssl``."""

from __future__ import annotations

import os
import shutil
import subprocess
from typing import TYPE_CHECKING, NamedTuple

import pytest

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["Pair", "made_pair", "needed_program"]


class Pair(NamedTuple):
    """A certificate that has signed itself, and its key."""

    certificate: Path
    key: Path


def needed_program(name: str, package: str) -> str:
    """Return where a program is; without it the test is skipped, or fails with ``HOOKROUTER_REQUIRE_LIVE=1``."""
    folders = f"{os.environ.get('PATH', os.defpath)}{os.pathsep}/usr/sbin{os.pathsep}/sbin"
    found = shutil.which(name, path=folders)
    if found is None:
        missing = f"{name} is missing: apt-get install {package}"
        (pytest.fail if os.environ.get("HOOKROUTER_REQUIRE_LIVE") == "1" else pytest.skip)(missing)
    return found


def made_pair(folder: Path, name: str = "page", password: str = "") -> Pair:
    """Make a certificate for 127.0.0.1 and localhost; with a password its key is encrypted."""
    pair = Pair(folder / f"{name}.pem", folder / f"{name}.key")
    words = [needed_program("openssl", "openssl"), "req", "-x509", "-days", "2", "-subj", "/CN=localhost"]
    words += ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1"]
    words += ["-addext", "subjectAltName=IP:127.0.0.1,DNS:localhost"]
    words += ["-passout", f"pass:{password}"] if password else ["-nodes"]
    words += ["-keyout", str(pair.key), "-out", str(pair.certificate)]
    subprocess.run(words, check=True, capture_output=True, timeout=60)
    return pair
