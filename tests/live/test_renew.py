"""The real client as ``python -m scripts.renew`` records it: what is pinned is what is recorded."""

from __future__ import annotations

import pytest

from hookrouter._contract.compare import read_contract_file
from hookrouter._contract.document import CONTRACT_FILE, VERSION
from hookrouter._sandbox.client import find_client
from scripts.renew.__main__ import ROOT, SCREENS, read_forms
from scripts.renew.comparing import compare_contract
from scripts.renew.recording import record
from scripts.renew.scenes import same_dialog

pytestmark = [pytest.mark.live, pytest.mark.tmux, pytest.mark.long]


def test_the_pinned_client_is_as_recorded() -> None:
    program = find_client()
    assert program is not None
    contract = read_contract_file(CONTRACT_FILE)

    seen = record(program, read_forms(ROOT), tuple(contract.events))

    if not seen.said.startswith(f"{VERSION} "):
        pytest.skip(f"the recorded screens are of {VERSION}, the client is {seen.said}")
    assert seen.failed == {}
    for name, screen in seen.screens.items():
        recorded = (ROOT / SCREENS / VERSION / f"{name}.txt").read_text(encoding="utf-8")
        assert same_dialog(recorded, screen), f"{name}\n{screen}"
    assert [str(edit) for edit in compare_contract("the contract", contract, seen)] == []
