-- Reports that finance and the board ask for every month.

-- Load factor: how full the boats were, by route and hour of departure.
select route,
       extract(hour from departs_at) as hour,
       round(100.0 * sum(sold) / sum(capacity), 1) as percent_full
from sailings
where departs_at >= date_trunc('month', now()) - interval '1 month'
  and departs_at < date_trunc('month', now())
group by route, hour
order by percent_full desc;

-- Possible double charges: one order, more than one captured attempt.
select order_number, count(*) as captures
from capture_attempts
where state = 'captured'
group by order_number
having count(*) > 1;

-- Revenue by currency, converted with the rate of the day of sale.
select currency, sum(amount) / 100.0 as local, round(sum(amount * rate) / 100.0, 2) as euro
from orders
group by currency;
