"""Which addresses may be asked, and which spellings of them are taken."""

from __future__ import annotations

import ipaddress

import pytest
from hypothesis import given
from hypothesis import strategies as some

from openviking.errors import InvalidArgumentError, OpenVikingError
from openviking.ingest.fetch.addresses import Addresses
from openviking.ingest.fetch.web_address import web_address

REFUSED = (
    "127.0.0.1 127.8.8.8 10.0.0.1 172.16.0.1 172.31.255.255 192.168.1.1 169.254.1.1 169.254.169.254 100.64.0.1 "
    "100.100.100.200 0.0.0.0 0.1.2.3 192.0.0.8 192.0.2.1 192.88.99.1 198.18.0.1 198.51.100.1 203.0.113.1 224.0.0.1 "
    "239.255.255.255 240.0.0.1 255.255.255.255 168.63.129.16 ::1 :: fe80::1 fe80::1%eth0 fc00::1 fd00:ec2::254 fec0::1 "
    "ff02::1 ::ffff:127.0.0.1 ::ffff:10.0.0.1 ::127.0.0.1 64:ff9b::7f00:1 64:ff9b::a00:1 64:ff9b:1::1 2002:7f00:1:: "
    "2002:a00:1::1 2001:0:53aa:64c:0:0:80ff:fffe 2001:db8::1 100::1 3fff::1 4000::1"
).split()
PUBLIC = "1.1.1.1 8.8.8.8 100.63.255.255 100.128.0.1 172.32.0.1 2606:4700::1111 64:ff9b::808:808 ::ffff:8.8.8.8 2002:808:808::1".split()


@pytest.mark.parametrize("text", REFUSED)
def test_refused(text: str) -> None:
    assert Addresses().refusal(ipaddress.ip_address(text))


@pytest.mark.parametrize("text", PUBLIC)
def test_public(text: str) -> None:
    assert Addresses().refusal(ipaddress.ip_address(text)) == ""


def test_private_ones_can_be_allowed_but_no_metadata_multicast_and_nowhere() -> None:
    allowing = Addresses(allow_private=True)
    for text in ("127.0.0.1", "10.0.0.1", "::1", "fe80::2", "fd12::1", "100.64.0.1", "::ffff:10.0.0.1"):
        assert allowing.refusal(ipaddress.ip_address(text)) == "", text
    for text in ("169.254.169.254", "fd00:ec2::254", "100.100.100.200", "224.0.0.1", "0.0.0.0", "::", "240.0.0.1"):
        assert allowing.refusal(ipaddress.ip_address(text)), text


def test_single_networks_can_be_allowed() -> None:
    allowing = Addresses.of(False, ("10.1.0.0/16", "fd12::/64", "wiki.example.org", "169.254.169.254"))
    for text, allowed in (
        ("10.1.2.3", True), ("10.2.0.1", False), ("fd12::9", True), ("fd13::9", False), ("::ffff:10.1.0.1", True),
        ("169.254.169.254", True), ("127.0.0.1", False),
    ):  # fmt: skip
        assert (allowing.refusal(ipaddress.ip_address(text)) == "") is allowed, text


@given(some.integers(0, 2**32 - 1))
def test_an_address_in_ipv6_clothes_is_judged_as_itself(number: int) -> None:
    plain = ipaddress.IPv4Address(number)
    for high in (0xFFFF << 32, 0x0064FF9B << 96):
        wrapped = ipaddress.IPv6Address(high | number)
        assert bool(Addresses().refusal(wrapped)) == bool(Addresses().refusal(plain)), (plain, wrapped)


@pytest.mark.parametrize(
    ("text", "right"),
    [
        ("https://Example.ORG", "https://example.org/"),
        ("HTTP://example.org:80/a?b=c#d", "http://example.org/a?b=c"),
        ("https://example.org:8443/ü?q=ä b%20c".replace(" ", ""), "https://example.org:8443/%C3%BC?q=%C3%A4b%20c"),
        ("https://example.org./x", "https://example.org/x"),
        ("https://[2606:4700::1111]:444/", "https://[2606:4700::1111]:444/"),
        ("https://[::FFFF:8.8.8.8]/", "https://[::ffff:808:808]/"),
        ("https://bücher.example/", "https://xn--bcher-kva.example/"),
        (" https://8.8.8.8/ ", "https://8.8.8.8/"),
    ],
)
def test_spellings_that_are_taken(text: str, right: str) -> None:
    assert str(web_address(text)) == right
    assert web_address(right) == web_address(text)


@pytest.mark.parametrize(
    "text",
    [
        "ftp://example.org/", "https:/example.org", "https://", "https:///x", "example.org", "https://user@example.org/",
        "https://user:pass@example.org/", "https://example.org@127.0.0.1/", "https://127.0.0.1\\@example.org/",
        "https://exa mple.org/", "https://example.org/\nx", "https://example.org/a b", "https://example.org:0/",
        "https://example.org:99999/", "https://example.org:-1/", "https://example.org:8o/", "https://example.org:22/",
        "https://example.org:6379x/", "https://2130706433/", "https://0x7f000001/", "https://0x7f.1/", "https://017700000001/",
        "https://127.1/", "https://127.0.1/", "https://0127.0.0.1/", "https://127.0.0.1.1/", "https://[::1/",
        "https://[fe80::1%25eth0]/", "https://[v1.x]/", "https://-x.org/", "https://x..org/", "https://x.org../",
        "https://ex%61mple.org/", "https://１２７.０.０.１/", "https://①②⑦.0.0.1/", "https://exam\u200bple.org/",
        "https://" + "a" * 64 + ".org/", "https://" + "a." * 127 + "org/", "https://example.org/" + "x" * 9000,
        "https://example.org/\ud800", "https://example.org/#\ud800", "https://user:pass@example.org/#\n",
        "ftp://user:pass@example.org/", "https://user:pass@example.org/ x",
    ],
)  # fmt: skip
def test_spellings_that_are_refused(text: str) -> None:
    with pytest.raises(InvalidArgumentError) as caught:
        web_address(text)
    assert "pass" not in str(caught.value) or "password" in str(caught.value)
    assert "user:pass" not in str(caught.value)


@given(some.text(max_size=60))
def test_any_text_is_taken_or_refused(text: str) -> None:
    for one in (text, f"https://{text}", f"http://example.org/{text}"):
        try:
            address = web_address(one)
        except OpenVikingError:
            continue
        assert str(address).isascii()
        assert str(web_address(str(address))) == str(address)
