"""Reads a ``[gateways.NAME]`` table into what the gateway declares, and says what is wrong with it.

Asked by the deliverer, ``config check`` and ``doctor`` alike. Imports attrs and cattrs, so not on the way of
``hookrouter run``.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from hookrouter._config.validation import Problem, problems_of
from hookrouter._plugins.settings_schema import declared, structure

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["GatewayFault", "read_gateway_settings"]

_KEY = re.compile(r"[\w.-]+")


class GatewayFault(Exception):
    """The gateway itself does not keep to what gateways must do; the message says how."""


def read_gateway_settings(gateway: Any, name: str, table: Mapping[str, object]) -> tuple[Any, list[Problem]]:
    """Return what the gateway's methods take, and the problems; with any, the first is None.

    ``gateway`` is a :class:`hookrouter.messaging.gateway.Gateway`.
    ``table`` is ``[gateways.NAME]`` without ``type``. Raises what the gateway's ``check`` raises, and GatewayFault
    if it returns anything but a list of texts or if the gateway's ``settings`` is no attrs class.
    """
    place = f"gateways.{name}"
    try:
        kind = declared(gateway.settings, "settings is")
    except TypeError as error:
        raise GatewayFault(str(error)) from None
    settings: Any = table
    if kind is not None:
        try:
            settings = structure(kind, table)
        except Exception as error:  # noqa: BLE001 - a validator of the gateway's class may raise anything
            return None, problems_of(error, place)
    faults = gateway.check(settings)
    if not isinstance(faults, list) or not all(isinstance(fault, str) for fault in faults):
        raise GatewayFault(f"check() returned {faults!r}, not a list of texts")
    return (None if faults else settings), [_problem(place, fault) for fault in faults]


def _problem(place: str, fault: str) -> Problem:
    key, _, text = fault.partition(": ")
    return Problem(f"{place}.{key}", text) if text and _KEY.fullmatch(key) else Problem(place, fault)
