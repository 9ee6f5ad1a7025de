-- The booking database. Money is an integer of minor units (decision 0009); time is UTC.

create table sailings (
    id          bigint generated always as identity primary key,
    route       smallint    not null,
    vessel      text        not null,
    departs_at  timestamptz not null,
    capacity    integer     not null check (capacity > 0),
    sold        integer     not null default 0 check (sold <= capacity),
    on_sale     boolean     not null default true
);

create table holds (
    id          uuid primary key default gen_random_uuid(),
    sailing_id  bigint      not null references sailings,
    seats       integer     not null check (seats between 1 and 60),
    ends_at     timestamptz not null
);
create index holds_by_sailing on holds (sailing_id, ends_at);

create table orders (
    number      bigint generated always as identity primary key,
    sailing_id  bigint      not null references sailings,
    seats       integer     not null,
    amount      integer     not null,
    currency    char(3)     not null,
    rate        numeric(12, 6) not null default 1,  -- of the day of sale; refunds use this one
    payment_id  text        not null
);

-- A second capture of one booking fails here, whoever tries it (incident of 14 March 2025).
create table capture_attempts (
    order_number    bigint  not null references orders,
    idempotency_key text    not null,
    state           text    not null check (state in ('pending', 'captured', 'failed', 'unknown')),
    unique (order_number, idempotency_key)
);

create table jobs (
    id          bigint generated always as identity primary key,
    kind        text        not null,
    key         text        not null unique,
    payload     jsonb       not null,
    ready_at    timestamptz not null default now(),
    leased_by   text,
    leased_until timestamptz
) with (autovacuum_vacuum_scale_factor = 0.01);
