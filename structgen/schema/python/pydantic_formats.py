"""What the formats allow that Pydantic names and JSON Schema doesn't know: schemas beside each.

Each allows only texts that Pydantic accepts, though not all: a network has its address in full.
"""

from __future__ import annotations

from typing import Any

_OCTET = r"(?:25[0-5]|2[0-4]\d|1\d\d|[1-9]?\d)"
IPV4_PATTERN = rf"(?:{_OCTET}\.){{3}}{_OCTET}"
_GROUP = "[0-9A-Fa-f]{1,4}"
_IPV4_BITS, _IPV6_BITS = 32, 128


def _sizes(low: int, high: int) -> str:
    """How many bits a network may have, between two bounds."""
    return f"(?:{'|'.join(map(str, range(low, high + 1)))})"


def _ipv4_networks() -> str:
    """Addresses whose bits behind the size are zero."""
    found = []
    for size in range(_IPV4_BITS + 1):
        whole, bits = divmod(size, 8)
        octets = [_OCTET] * whole
        if bits:
            octets.append(f"(?:{'|'.join(map(str, range(0, 256, 256 >> bits)))})")
        octets += ["0"] * (4 - len(octets))
        found.append(r"\.".join(octets) + f"/{size}")
    return "|".join(found)


def _ipv6_addresses() -> str:
    """Eight groups, or fewer with `::` in the place of one or more."""
    found = [
        f"(?:{_GROUP}:){{7}}{_GROUP}",
        f"(?:{_GROUP}:){{1,7}}:",
        f":(?::{_GROUP}){{1,7}}",
        "::",
    ]
    found += [f"(?:{_GROUP}:){{1,{n}}}(?::{_GROUP}){{1,{7 - n}}}" for n in range(1, 7)]
    return "|".join(found)


def _ipv6_networks() -> str:
    """Some groups and `::`, with at least as many bits as the groups have."""
    begun = ["::", *(f"(?:{_GROUP}:){{{groups}}}:" for groups in range(1, 8))]
    return "|".join(f"{at}/{_sizes(16 * groups, _IPV6_BITS)}" for groups, at in enumerate(begun))


_IPV4_NETWORK = f"^(?:{_ipv4_networks()})$"
_IPV6_NETWORK = f"^(?:{_ipv6_networks()})$"
_IPV4_INTERFACE = f"^{IPV4_PATTERN}(?:/{_sizes(0, _IPV4_BITS)})?$"
_IPV6_INTERFACE = f"^(?:{_ipv6_addresses()})(?:/{_sizes(0, _IPV6_BITS)})?$"


def _any_of(*patterns: str) -> dict[str, Any]:
    return {"anyOf": [{"pattern": pattern} for pattern in patterns]}


def _uuid(version: int) -> dict[str, Any]:
    return {"format": "uuid", "pattern": f"^.{{14}}{version}.{{4}}[89ABab]"}


FORMATS: dict[str, dict[str, Any]] = {
    **{f"uuid{version}": _uuid(version) for version in range(1, 9)},
    "ipv4network": {"pattern": _IPV4_NETWORK},
    "ipv6network": {"pattern": _IPV6_NETWORK},
    "ipv4interface": {"pattern": _IPV4_INTERFACE},
    "ipv6interface": {"pattern": _IPV6_INTERFACE},
    "ipvanyaddress": {"anyOf": [{"format": "ipv4"}, {"format": "ipv6"}]},
    "ipvanynetwork": _any_of(_IPV4_NETWORK, _IPV6_NETWORK),
    "ipvanyinterface": _any_of(_IPV4_INTERFACE, _IPV6_INTERFACE),
    "base64": {"pattern": "^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$"},
    "base64url": {"pattern": "^(?:[A-Za-z0-9_-]{4})*(?:[A-Za-z0-9_-]{2}==|[A-Za-z0-9_-]{3}=)?$"},
}
