"""Holding and selling seats: a hold is a row that ends by itself, and buying checks it again."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta

HOLD_DURATION = timedelta(minutes=12)


class SailingFull(Exception):
    """No seat of the wanted class is left on this sailing."""


class HoldExpired(Exception):
    """The passenger took longer than the hold lasts; the seat may be sold to somebody else."""


@dataclass(frozen=True)
class Hold:
    id: str
    sailing_id: int
    seats: int
    ends_at: datetime


def hold_seats(db, sailing_id: int, seats: int, now: datetime) -> Hold:
    """Reserve seats for twelve minutes, or raise SailingFull.

    The capacity is checked by the database in one statement, so that two passengers who press the button
    at the same moment cannot both get the last seat.
    """
    row = db.one(
        """
        insert into holds (sailing_id, seats, ends_at)
        select s.id, :seats, :ends_at from sailings s
        where s.id = :sailing_id
          and s.capacity - s.sold - coalesce((
                select sum(h.seats) from holds h where h.sailing_id = s.id and h.ends_at > :now), 0) >= :seats
        returning id, sailing_id, seats, ends_at
        """,
        sailing_id=sailing_id, seats=seats, now=now, ends_at=now + HOLD_DURATION,
    )
    if row is None:
        raise SailingFull(sailing_id)
    return Hold(**row)


def sweep_expired_holds(db, now: datetime) -> int:
    """Delete holds that have ended; called every fifteen seconds. Returns how many seats became free."""
    return db.scalar("with gone as (delete from holds where ends_at <= :now returning seats) "
                     "select coalesce(sum(seats), 0) from gone", now=now)


def confirm_order(db, hold: Hold, payment_id: str, now: datetime) -> int:
    """Turn a hold into an order and queue its capture, in one transaction. Returns the order's number."""
    with db.transaction():
        alive = db.scalar("delete from holds where id = :id and ends_at > :now returning 1", id=hold.id, now=now)
        if not alive:
            raise HoldExpired(hold.id)
        db.run("update sailings set sold = sold + :n where id = :id", n=hold.seats, id=hold.sailing_id)
        order = db.scalar("insert into orders (sailing_id, seats, payment_id) values (:s, :n, :p) returning number",
                          s=hold.sailing_id, n=hold.seats, p=payment_id)
        db.run("insert into jobs (kind, key, payload) values ('capture', :key, :order)", key=payment_id, order=order)
        return order
