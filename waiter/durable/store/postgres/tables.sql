-- The tables of version 1. All times are in microseconds since 1970.

CREATE TABLE @schema@.version(
  version integer NOT NULL,
  -- The oldest version of programs that may still use the tables.
  compatible integer NOT NULL
);
INSERT INTO @schema@.version VALUES (1, 1);

CREATE TABLE @schema@.names(
  space text NOT NULL,
  name text NOT NULL,
  partitions integer NOT NULL,
  PRIMARY KEY (space, name)
);

-- A transaction that changes waits of a partition locks its row until the
-- commit. All pending waits up to (`bound_due`, `bound_key`) are held under one
-- of its claims, and no result is to be forgotten before `first_forget`:
-- searches begin there, behind what vacuum cannot remove yet.
CREATE TABLE @schema@.partitions(
  id integer GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  space text NOT NULL,
  name text NOT NULL,
  number integer NOT NULL,
  fence bigint NOT NULL DEFAULT 0,
  bound_due bigint NOT NULL DEFAULT 0,
  bound_key bytea NOT NULL DEFAULT '',
  first_forget bigint NOT NULL DEFAULT 9223372036854775807,
  pending bigint NOT NULL DEFAULT 0,
  kept bigint NOT NULL DEFAULT 0,
  polls bigint NOT NULL DEFAULT 0,
  UNIQUE (space, name, number)
) WITH (fillfactor = 10, autovacuum_vacuum_scale_factor = 0,
        autovacuum_vacuum_threshold = 1000);

CREATE TABLE @schema@.counters(
  partition integer NOT NULL,
  counter text NOT NULL,
  count bigint NOT NULL,
  PRIMARY KEY (partition, counter)
) WITH (fillfactor = 10, autovacuum_vacuum_scale_factor = 0,
        autovacuum_vacuum_threshold = 1000);

-- A claim holds the pending waits after (`from_due`, `from_key`) up to
-- (`to_due`, `to_key`), so that it changes none of them. `held` is how many are
-- left. Claims of a partition follow each other, without a gap but for those
-- that are over.
CREATE TABLE @schema@.claims(
  partition integer NOT NULL,
  fence bigint NOT NULL,
  from_due bigint NOT NULL,
  from_key bytea NOT NULL,
  to_due bigint NOT NULL,
  to_key bytea NOT NULL,
  held bigint NOT NULL,
  PRIMARY KEY (partition, fence)
) WITH (fillfactor = 50, autovacuum_vacuum_scale_factor = 0,
        autovacuum_vacuum_threshold = 1000);

-- All waits. Polls change none of these rows. `record` and `forget` are those
-- of a delivered wait.
CREATE TABLE @schema@.waits(
  partition integer NOT NULL,
  key bytea NOT NULL,
  args bytea NOT NULL DEFAULT '',
  value bytea NOT NULL DEFAULT '',
  record bytea,
  forget bigint,
  PRIMARY KEY (partition, key)
);
CREATE INDEX waits_forget ON @schema@.waits(partition, forget)
  WHERE forget IS NOT NULL;

-- The pending waits. `due` is odd while a wait is held under that number, and
-- not by a claim. A poll changes such a row once, and with it both indexes. A
-- holder finds its waits by (partition, due, key), where old versions of a row
-- are elsewhere; a unique index would read them all.
-- Bits of `flags`: 1 cancelled, 2 notified, 4 has args, 8 notified while held.
CREATE TABLE @schema@.pending(
  due bigint NOT NULL,
  partition integer NOT NULL,
  crashes integer NOT NULL DEFAULT 0,
  marks integer NOT NULL DEFAULT 0,
  flags integer NOT NULL DEFAULT 0,
  key bytea NOT NULL,
  record bytea NOT NULL
) WITH (fillfactor = 70, autovacuum_vacuum_scale_factor = 0.02,
        autovacuum_vacuum_threshold = 10000, autovacuum_vacuum_cost_delay = 0);
CREATE INDEX pending_due ON @schema@.pending(partition, due, key);
CREATE INDEX pending_key ON @schema@.pending(partition, key);
CREATE INDEX pending_notified ON @schema@.pending(partition)
  WHERE flags & 8 <> 0;

CREATE TABLE @schema@.workers(
  space text NOT NULL,
  worker text NOT NULL,
  heartbeat bigint NOT NULL,
  PRIMARY KEY (space, worker)
) WITH (fillfactor = 50);

-- Waits and signals that programs have added in their transactions, until a store
-- moves them. `partition` is NULL until a client or worker has used the name.
CREATE TABLE @schema@.inbox(
  id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  partition integer,
  space text NOT NULL CHECK (space ~ '^[A-Za-z0-9_.-]{1,64}$'),
  name text NOT NULL CHECK (name ~ '^[A-Za-z0-9_.-]{1,64}$'),
  key bytea NOT NULL CHECK (length(key) BETWEEN 1 AND 128),
  args bytea NOT NULL DEFAULT '' CHECK (length(args) <= 16384),
  timeout_us bigint CHECK (timeout_us BETWEEN 0 AND 3153600000000000),
  first_delay_us bigint NOT NULL DEFAULT 0
    CHECK (first_delay_us BETWEEN 0 AND 3153600000000000),
  signal text CHECK (signal IN ('cancel', 'notify')),
  born_us bigint NOT NULL
) WITH (autovacuum_vacuum_scale_factor = 0,
        autovacuum_vacuum_threshold = 10000, autovacuum_vacuum_cost_delay = 0);
CREATE INDEX inbox_partition ON @schema@.inbox(partition, id)
  WHERE partition IS NOT NULL;
CREATE INDEX inbox_name ON @schema@.inbox(space, name)
  WHERE partition IS NULL;
