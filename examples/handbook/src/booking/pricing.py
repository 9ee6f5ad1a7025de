"""What an order costs: fares, then discounts on the sum, then one rounding."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from decimal import ROUND_HALF_EVEN, Decimal


@dataclass(frozen=True)
class Passenger:
    age: int
    student: bool = False
    resident: bool = False


def passenger_fare(adult_cents: int, child_cents: int, passenger: Passenger) -> Decimal:
    """The fare of one passenger before group discount; children under four travel free."""
    if passenger.age < 4:
        return Decimal(0)
    if passenger.age <= 15:
        return Decimal(child_cents)
    fare = Decimal(adult_cents)
    if passenger.resident:
        return fare * Decimal("0.60")
    if passenger.student:
        return fare * Decimal("0.70")
    return fare


def quote(adult_cents: int, child_cents: int, passengers: Sequence[Passenger], *, peak: bool) -> int:
    """The price of the whole order in cents.

    Groups of ten and more get 15 % off the sum. Rounding happens once, half to even: rounding each fare cost
    up to seven cents an order.
    """
    total = sum((passenger_fare(adult_cents, child_cents, one) for one in passengers), Decimal(0))
    if len(passengers) >= 10:
        total *= Decimal("0.85")
    if peak:
        total *= Decimal("1.12")
    return int(total.quantize(Decimal(1), rounding=ROUND_HALF_EVEN))


def refund_cents(paid_cents: int, fare_class: str, hours_before: float) -> int:
    """What a passenger gets back who cancels this many hours before departure (product/refunds.md)."""
    if fare_class == "flex":
        return paid_cents
    if fare_class == "saver":
        return 0
    if hours_before > 24:
        return max(0, paid_cents - 400)
    return paid_cents // 2 if hours_before >= 2 else 0
