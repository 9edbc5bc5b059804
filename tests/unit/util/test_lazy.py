"""What is made when it is first used."""

from __future__ import annotations

from hookrouter.util.lazy import cached_property


class Holder:
    made = 0

    @cached_property
    def value(self) -> int:
        """Say how often it was made."""
        self.made += 1
        return self.made


def test_an_attribute_is_made_once_for_each_object() -> None:
    first, second = Holder(), Holder()
    assert (first.value, first.value, second.value) == (1, 1, 1)
    del first.value
    assert first.value == 2
    assert Holder.value.__doc__ == "Say how often it was made."
