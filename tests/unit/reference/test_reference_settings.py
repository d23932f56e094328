"""Settings come from the environment; invalid ones are refused with a message that names the variable."""

import math
import string
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reference_impl.settings import PREFIX, Settings, SettingsInvalid, environment_of, read_settings
from scenarios.systems.reference.terms import LAB

words = st.text(string.ascii_letters + string.digits + "._:/@-% é", max_size=40)
KINDS: dict[type, Any] = {
    str: words,
    int: st.integers(1, 1000),
    float: st.floats(0.001, 1000.0),
}
MARGINS = (
    "lease_s",
    "heartbeat_s",
    "relay_claim_s",
    "confirm_timeout_s",
    "lock_ttl_s",
    "sweep_s",
    "undelivered_after_s",
)
WORDS_OF = {"authentication": st.sampled_from(["tokens", "off"])}
"""Settings that are one of a few words."""
FREE = [name for name in Settings.__struct_fields__ if name not in {*MARGINS, "delay_min_s", "delay_max_s"}]


@given(
    st.fixed_dictionaries(
        {}, optional={name: WORDS_OF.get(name, KINDS[type(getattr(Settings(), name))]) for name in FREE}
    )
)
def test_what_is_written_to_the_environment_is_what_is_read_from_it(changes: dict[str, Any]) -> None:
    settings = Settings(**changes)

    assert read_settings({"PATH": "/bin", **environment_of(settings)}) == settings


def test_what_is_not_said_is_the_default() -> None:
    assert read_settings({}) == Settings()
    assert environment_of(Settings()) == {}


def test_the_settings_of_the_lab_are_good_ones() -> None:
    assert read_settings(environment_of(LAB)) == LAB


@pytest.mark.parametrize(
    ("variable", "value", "says"),
    [
        ("LEASE", "30", "lease"),
        ("LEASE_S", "long", "lease_s"),
        ("LEASE_S", "", "lease_s"),
        ("LEASE_S", "nan", "lease_s must be from"),
        ("LEASE_S", "inf", "lease_s must be from"),
        ("LEASE_S", "-1", "lease_s must be from"),
        ("IO_TIMEOUT_S", "0", "io_timeout_s must be from"),
        ("WORKER_SLOTS", "0", "worker_slots must be from"),
        ("WORKER_SLOTS", "2.5", "worker_slots"),
        ("WORKER_SLOTS", "1e9999", "worker_slots"),
        ("ATTEMPTS_MAX", "0", "attempts_max must be from"),
        ("PREFETCH", "65536", "prefetch must be from 1 to 65535"),
        ("HTTP_PORT", "65536", "http_port must be from"),
        ("AUTHENTICATION", "none", "authentication"),
        ("BODY_TIMEOUT_S", "0", "body_timeout_s must be from"),
        ("NAME", "x" * 65, "name must be from 0 to 64 characters"),
        ("PREFIX", "x" * 55, "prefix must be from"),
        ("PAYLOAD_BYTES_MAX", str(2**21), "payload_bytes_max must be from"),
        ("HEARTBEAT_S", "11", "lease_s must be at least 3 × heartbeat_s"),
        ("CONFIRM_TIMEOUT_S", "30", "relay_claim_s must be at least 1.25 × confirm_timeout_s"),
        ("SWEEP_S", "20", "lock_ttl_s must be at least 2 × sweep_s"),
        ("UNDELIVERED_AFTER_S", "59", "undelivered_after_s must be at least 1 × lease_s + relay_claim_s"),
        ("DELAY_MIN_S", "61", "delay_max_s must be at least 1 × delay_min_s"),
    ],
)
def test_a_value_that_cannot_be_is_refused_by_name(variable: str, value: str, says: str) -> None:
    """R24: also a time-out that does not outlive what it guards. A misspelt variable would otherwise mean a default."""
    with pytest.raises(SettingsInvalid) as refusal:
        read_settings({PREFIX + variable: value})

    assert says in str(refusal.value)


def test_variables_of_other_programs_are_none_of_ours() -> None:
    assert read_settings({"LEASE_S": "x", "REFERENCES": "x"}) == Settings()


@pytest.mark.parametrize("field", Settings.__struct_fields__)
def test_every_setting_has_bounds_that_its_default_keeps(field: str) -> None:
    default = getattr(Settings(), field)
    too_much = "x" * 2000 if isinstance(default, str) else str(10**12)

    with pytest.raises(SettingsInvalid, match=field):
        read_settings({PREFIX + field.upper(): too_much})
    assert not isinstance(default, float) or math.isfinite(default)
