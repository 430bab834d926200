-- Functions that the other scripts share. Only functions that the store calls set
-- `@attributes@`, as each setting costs some microseconds: the others have those
-- of their caller.

CREATE OR REPLACE FUNCTION @schema@.now_us() RETURNS bigint
LANGUAGE sql VOLATILE AS $$
  SELECT (extract(epoch FROM clock_timestamp()) * 1000000)::bigint
$$;

CREATE OR REPLACE FUNCTION @schema@.even(number bigint) RETURNS bigint
LANGUAGE sql IMMUTABLE AS $$ SELECT number - number % 2 $$;

-- A fence above all before in the partition, which is the end of the lease.
CREATE OR REPLACE FUNCTION @schema@.next_fence(last bigint, lease_end bigint)
RETURNS bigint
LANGUAGE sql IMMUTABLE AS $$
  SELECT greatest(lease_end, last + 1) - greatest(lease_end, last + 1) % 2 + 1
$$;

-- When a wait is due that no claim holds: not before the bound of the claims.
CREATE OR REPLACE FUNCTION @schema@.free_due(due bigint, bound bigint)
RETURNS bigint
LANGUAGE sql IMMUTABLE AS $$
  SELECT greatest(due - due % 2, bound - bound % 2 + 2)
$$;

-- CRC-32C of the key, modulo the number of partitions.
CREATE OR REPLACE FUNCTION @schema@.partition_number(key bytea, count integer)
RETURNS integer
LANGUAGE plpgsql IMMUTABLE STRICT AS $$
DECLARE
  halves CONSTANT bigint[] := ARRAY[
    0, 274646895, 549293790, 820201905, 1098587580, 1361435347,
    1640403810, 1905808397, 2197175160, 2460548119, 2722870694,
    2987750089, 3280807620, 3553878443, 3811616794, 4084100981];
  crc bigint := 4294967295;
BEGIN
  FOR i IN 0 .. length(key) - 1 LOOP
    crc := crc # get_byte(key, i);
    crc := (crc >> 4) # halves[(crc & 15) + 1];
    crc := (crc >> 4) # halves[(crc & 15) + 1];
  END LOOP;
  RETURN (crc # 4294967295) % count;
END $$;

-- Adds a wait of the inbox. Returns whether it is new.
CREATE OR REPLACE FUNCTION @schema@.add_from_inbox(
  one @schema@.inbox, bound bigint)
RETURNS boolean
LANGUAGE plpgsql AS $$
BEGIN
  INSERT INTO waits(partition, key, args)
    VALUES (one.partition, one.key, one.args) ON CONFLICT DO NOTHING;
  IF NOT FOUND THEN
    RETURN false;
  END IF;
  INSERT INTO pending(partition, due, key, flags, record)
    VALUES (one.partition, free_due(one.born_us + one.first_delay_us, bound),
            one.key,
            CASE WHEN one.args = '' THEN 0 ELSE 4 END,
            convert_to('0' || one.born_us || ' 1 '
                       || coalesce(one.timeout_us, -1) || ' ', 'UTF8'));
  RETURN true;
END $$;

-- Cancels or notifies pending waits: those that nobody holds are due now.
CREATE OR REPLACE FUNCTION @schema@.signal_some(
  part @schema@.partitions, keys bytea[], signal text) RETURNS void
LANGUAGE plpgsql AS $$
DECLARE
  now bigint := now_us();
BEGIN
  UPDATE pending w
    SET flags = w.flags | CASE
          WHEN signal = 'cancel' THEN 1
          WHEN w.due % 2 = 1
            OR (w.due, w.key) <= (part.bound_due, part.bound_key) THEN 10
          ELSE 2 END,
        due = CASE WHEN w.due % 2 = 1 OR w.due <= now
                     OR (w.due, w.key) <= (part.bound_due, part.bound_key)
                   THEN w.due ELSE free_due(now, part.bound_due) END
    FROM unnest(keys) AS i(key)
    WHERE w.partition = part.id AND w.key = i.key
      AND get_byte(w.record, 0) = 48;
END $$;

-- Moves what is in the inbox for a partition, whose row is locked. Returns the
-- row as it is then.
CREATE OR REPLACE FUNCTION @schema@.take_inbox(part @schema@.partitions)
RETURNS @schema@.partitions
LANGUAGE plpgsql AS $$
DECLARE
  one inbox;
  added bigint := 0;
BEGIN
  FOR one IN
    WITH gone AS (
      DELETE FROM inbox i WHERE i.id = ANY(ARRAY(
        SELECT o.id FROM inbox o WHERE o.partition = part.id
        ORDER BY o.partition, o.id LIMIT 1000))
      RETURNING i.*)
    SELECT * FROM gone ORDER BY id
  LOOP
    IF one.signal IS NOT NULL THEN
      PERFORM signal_some(part, ARRAY[one.key], one.signal);
    ELSIF add_from_inbox(one, part.bound_due) THEN
      added := added + 1;
    END IF;
  END LOOP;
  part.pending := part.pending + added;
  UPDATE partitions p SET pending = part.pending WHERE p.id = part.id;
  IF added > 0 THEN
    INSERT INTO counters AS c VALUES (part.id, 'enqueued', added)
      ON CONFLICT (partition, counter) DO UPDATE
      SET count = c.count + excluded.count;
  END IF;
  RETURN part;
END $$;

CREATE OR REPLACE FUNCTION @schema@.has_inbox(partition integer)
RETURNS boolean
LANGUAGE plpgsql STABLE AS $$
BEGIN
  RETURN EXISTS (
      SELECT FROM inbox i WHERE i.partition = has_inbox.partition)
    AND current_setting('transaction_read_only') = 'off';
END $$;

-- Whether the clock was set back behind the bound of the claims. New waits,
-- which come after the bound, would be due too late.
CREATE OR REPLACE FUNCTION @schema@.is_ahead(part @schema@.partitions)
RETURNS boolean
LANGUAGE plpgsql VOLATILE AS $$
BEGIN
  RETURN part.bound_due > now_us() + 1000000
    AND current_setting('transaction_read_only') = 'off';
END $$;

-- Ends the bound of the claims: each of their waits gets the fence as its own
-- number. Returns the row of the partition as it is then.
CREATE OR REPLACE FUNCTION @schema@.unbind(part @schema@.partitions)
RETURNS @schema@.partitions
LANGUAGE plpgsql AS $$
DECLARE
  one claims;
BEGIN
  FOR one IN
    DELETE FROM claims c WHERE c.partition = part.id RETURNING c.*
  LOOP
    UPDATE pending w
      SET due = one.fence, crashes = w.crashes + (w.due % 2)::integer
      WHERE w.partition = part.id
        AND w.due BETWEEN one.from_due AND one.to_due
        AND (w.due, w.key) > (one.from_due, one.from_key)
        AND (w.due, w.key) <= (one.to_due, one.to_key);
  END LOOP;
  part.bound_due := 0;
  part.bound_key := '';
  UPDATE partitions p SET bound_due = 0, bound_key = '' WHERE p.id = part.id;
  RETURN part;
END $$;

-- Locks the row of a partition, which is made if it is missing. Its inbox is
-- empty then.
CREATE OR REPLACE FUNCTION @schema@.lock_partition(
  space text, name text, number integer) RETURNS @schema@.partitions
LANGUAGE plpgsql AS $$
DECLARE
  part partitions;
BEGIN
  LOOP
    SELECT * INTO part FROM partitions p
      WHERE p.space = $1 AND p.name = $2 AND p.number = $3
      FOR NO KEY UPDATE;
    EXIT WHEN FOUND;
    INSERT INTO partitions(space, name, number) VALUES ($1, $2, $3)
      ON CONFLICT DO NOTHING;
  END LOOP;
  IF is_ahead(part) THEN
    part := unbind(part);
  END IF;
  IF has_inbox(part.id) THEN
    part := take_inbox(part);
  END IF;
  RETURN part;
END $$;

-- Returns the row of a partition, with all NULL if it is missing. Its inbox is
-- empty then, and the row is not locked.
CREATE OR REPLACE FUNCTION @schema@.find_partition(
  space text, name text, number integer) RETURNS @schema@.partitions
LANGUAGE plpgsql AS $$
DECLARE
  part partitions;
BEGIN
  SELECT * INTO part FROM partitions p
    WHERE p.space = $1 AND p.name = $2 AND p.number = $3;
  IF has_inbox(part.id) OR is_ahead(part) THEN
    part := lock_partition($1, $2, $3);
  END IF;
  RETURN part;
END $$;

-- When the first pending wait of a partition can be claimed; NULL if there is
-- none.
CREATE OR REPLACE FUNCTION @schema@.next_due(part @schema@.partitions)
RETURNS bigint
LANGUAGE plpgsql AS $$
BEGIN
  RETURN least(
    (SELECT w.due FROM pending w
     WHERE w.partition = part.id
       AND (w.partition, w.due, w.key) >
           (part.id, part.bound_due, part.bound_key)
     ORDER BY w.partition, w.due, w.key LIMIT 1),
    (SELECT c.fence FROM claims c WHERE c.partition = part.id
     ORDER BY c.partition, c.fence LIMIT 1));
END $$;
