// Draws the deck plan. Colours alone never carry meaning: taken seats also have a diagonal line.

const SEAT = 22;

/** Group seats by deck and row, so that screen readers read them in order. */
export function groupSeats(seats) {
  const decks = new Map();
  for (const seat of seats) {
    const key = `${seat.deck}/${seat.row}`;
    if (!decks.has(key)) decks.set(key, []);
    decks.get(key).push(seat);
  }
  for (const row of decks.values()) row.sort((a, b) => a.column - b.column);
  return decks;
}

/** The best free seats for a party: together, then near a window, then near the stairs. */
export function suggestSeats(seats, count) {
  let best = null;
  for (const row of groupSeats(seats).values()) {
    for (let start = 0; start + count <= row.length; start++) {
      const run = row.slice(start, start + count);
      if (run.some((seat) => seat.taken)) continue;
      const score = run.filter((seat) => seat.window).length * 2 + (run[0].nearStairs ? 1 : 0);
      if (!best || score > best.score) best = { run, score };
    }
  }
  return best ? best.run : [];
}

export function drawSeat(context, seat) {
  context.strokeRect(seat.column * SEAT, seat.row * SEAT, SEAT - 4, SEAT - 4);
  if (seat.taken) {
    context.beginPath();
    context.moveTo(seat.column * SEAT, seat.row * SEAT);
    context.lineTo(seat.column * SEAT + SEAT - 4, seat.row * SEAT + SEAT - 4);
    context.stroke();
  }
}
