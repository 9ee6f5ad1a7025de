// The checkout keeps no state of its own: what it knows stands in the URL or in the order.

export type Step = "sailing" | "passengers" | "payment" | "done";

export interface Order {
  number: number;
  holdEndsAt: string; // ISO 8601
  total: { amount: number; currency: "EUR" | "NOK" | "GBP" };
}

export class PaymentDeclined extends Error {
  constructor(readonly reason: "insufficient_funds" | "do_not_honour" | "expired_card") {
    super(`payment declined: ${reason}`);
  }
}

/** Seconds until the held seats are given back, never below zero. */
export function secondsLeft(order: Order, now: Date = new Date()): number {
  return Math.max(0, Math.floor((Date.parse(order.holdEndsAt) - now.getTime()) / 1000));
}

/** The money of an order as the passenger reads it; amounts are minor units. */
export function formatTotal(order: Order, locale: string): string {
  return new Intl.NumberFormat(locale, { style: "currency", currency: order.total.currency }).format(
    order.total.amount / 100,
  );
}

/**
 * Pay an order. A button pressed twice pays once: the idempotency key is the order number, and the second
 * request gets the answer of the first.
 */
export async function submitPayment(order: Order, token: string): Promise<void> {
  const response = await fetch(`/api/orders/${order.number}/payment`, {
    method: "POST",
    headers: { "content-type": "application/json", "idempotency-key": String(order.number) },
    body: JSON.stringify({ token }),
  });
  if (response.status === 402) {
    const { reason } = await response.json();
    throw new PaymentDeclined(reason);
  }
  if (!response.ok) {
    throw new Error(`payment failed with status ${response.status}`);
  }
}

/** Which step comes next; going back is always allowed, skipping is not. */
export function nextStep(current: Step, order: Order | null): Step {
  switch (current) {
    case "sailing":
      return "passengers";
    case "passengers":
      return order ? "payment" : "sailing";
    default:
      return "done";
  }
}
