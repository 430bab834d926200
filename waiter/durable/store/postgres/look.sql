-- Reads waits, and single changes of them.

-- The fence under which a claim holds a wait; NULL if none does.
CREATE OR REPLACE FUNCTION @schema@.claim_of(
  part @schema@.partitions, due bigint, key bytea) RETURNS bigint
LANGUAGE plpgsql STABLE AS $$
BEGIN
  IF (due, key) > (part.bound_due, part.bound_key) THEN
    RETURN NULL;
  END IF;
  RETURN (SELECT c.fence FROM claims c
          WHERE c.partition = part.id
            AND (c.from_due, c.from_key) < (due, $3)
            AND (due, $3) <= (c.to_due, c.to_key)
          LIMIT 1);
END $$;

-- The waits with some keys, in their order; `record` is NULL where there is
-- none.
CREATE OR REPLACE FUNCTION @schema@.rows_of(
  part @schema@.partitions, keys bytea[])
RETURNS TABLE(key bytea, record bytea, args bytea, value bytea, due bigint,
              flags integer)
LANGUAGE plpgsql STABLE AS $$
BEGIN
  RETURN QUERY
    SELECT i.key, coalesce(w.record, s.record), s.args, s.value,
           coalesce(claim_of(part, w.due, w.key), w.due), w.flags
    FROM unnest(keys) WITH ORDINALITY AS i(key, place)
    LEFT JOIN waits s ON s.partition = part.id AND s.key = i.key
    LEFT JOIN pending w ON w.partition = part.id AND w.key = i.key
    ORDER BY i.place;
END $$;

CREATE OR REPLACE FUNCTION @schema@.store_get(
  space text, name text, number integer, keys bytea[])
RETURNS TABLE(key bytea, record bytea, args bytea, value bytea, due bigint,
              flags integer)
LANGUAGE plpgsql @attributes@ AS $$
DECLARE
  part partitions := find_partition($1, $2, $3);
BEGIN
  RETURN QUERY SELECT * FROM rows_of(part, keys);
END $$;

CREATE OR REPLACE FUNCTION @schema@.store_signal(
  space text, name text, number integer, keys bytea[], signal text)
RETURNS TABLE(key bytea, record bytea, args bytea, value bytea, due bigint,
              flags integer)
LANGUAGE plpgsql @attributes@ AS $$
DECLARE
  part partitions := lock_partition($1, $2, $3);
  count bigint;
BEGIN
  IF signal = 'forget' THEN
    DELETE FROM waits s
      WHERE s.partition = part.id AND s.key = ANY(keys)
        AND s.forget IS NOT NULL;
    GET DIAGNOSTICS count = ROW_COUNT;
    UPDATE partitions p SET kept = p.kept - count WHERE p.id = part.id;
  ELSE
    PERFORM signal_some(part, keys, signal);
  END IF;
  RETURN QUERY SELECT * FROM rows_of(part, keys);
END $$;

-- The waits whose keys follow `last`.
CREATE OR REPLACE FUNCTION @schema@.store_scan(
  space text, name text, number integer, last bytea, most bigint)
RETURNS TABLE(key bytea, record bytea, args bytea, value bytea, due bigint,
              flags integer)
LANGUAGE plpgsql @attributes@ AS $$
DECLARE
  part partitions := find_partition($1, $2, $3);
BEGIN
  RETURN QUERY
    SELECT * FROM rows_of(part, ARRAY(
      SELECT s.key FROM waits s WHERE s.partition = part.id AND s.key > last
      ORDER BY s.partition, s.key LIMIT most));
END $$;

-- The first row has the numbers; those after it are counters.
CREATE OR REPLACE FUNCTION @schema@.store_stats(
  space text, name text, number integer)
RETURNS TABLE(now_us bigint, pending bigint, overdue bigint, next_us bigint,
              kept bigint, polls bigint, counter text, count bigint)
LANGUAGE plpgsql @attributes@ AS $$
DECLARE
  part partitions := find_partition($1, $2, $3);
BEGIN
  now_us := now_us();
  pending := coalesce(part.pending, 0);
  kept := coalesce(part.kept, 0);
  polls := coalesce(part.polls, 0);
  overdue := (
    SELECT count(*) FROM pending w
    WHERE w.partition = part.id AND w.due <= store_stats.now_us - 2000000
      AND (w.partition, w.due, w.key) >
          (part.id, part.bound_due, part.bound_key))
    + (SELECT coalesce(sum(c.held), 0)::bigint FROM claims c
       WHERE c.partition = part.id
         AND c.fence <= store_stats.now_us - 2000000);
  next_us := next_due(part);
  RETURN NEXT;
  RETURN QUERY
    SELECT NULL::bigint, NULL::bigint, NULL::bigint, NULL::bigint, NULL::bigint,
           NULL::bigint, c.counter, c.count
    FROM counters c WHERE c.partition = part.id ORDER BY c.counter;
END $$;

CREATE OR REPLACE FUNCTION @schema@.store_mark(
  space text, name text, number integer, key bytea, begins boolean)
RETURNS TABLE(marks integer)
LANGUAGE plpgsql @attributes@ AS $$
DECLARE
  part partitions := lock_partition($1, $2, $3);
BEGIN
  UPDATE pending w
    SET marks = CASE WHEN begins THEN w.marks + 1 ELSE 0 END,
        -- Under a claim, the lease before it still counts.
        crashes = CASE
          WHEN begins THEN w.crashes
          WHEN (w.due, w.key) <= (part.bound_due, part.bound_key)
            THEN -(w.due % 2)
          ELSE 0 END
    WHERE w.partition = part.id AND w.key = $4
    RETURNING w.marks INTO marks;
  marks := coalesce(marks, begins::integer);
  RETURN NEXT;
END $$;

-- Opens a name, and moves what is in the inbox for it to its partitions.
CREATE OR REPLACE FUNCTION @schema@.store_open(
  space text, name text, count integer)
RETURNS TABLE(partitions integer)
LANGUAGE plpgsql @attributes@ AS $$
BEGIN
  SELECT n.partitions INTO partitions FROM names n
    WHERE n.space = $1 AND n.name = $2;
  IF NOT FOUND THEN
    INSERT INTO names VALUES ($1, $2, $3) ON CONFLICT DO NOTHING;
    SELECT n.partitions INTO partitions FROM names n
      WHERE n.space = $1 AND n.name = $2;
    INSERT INTO partitions AS p (space, name, number)
      SELECT $1, $2, i FROM generate_series(0, partitions - 1) AS i
      ON CONFLICT DO NOTHING;
  END IF;
  IF EXISTS (SELECT FROM inbox i WHERE i.partition IS NULL
             AND i.space = $1 AND i.name = $2)
     AND current_setting('transaction_read_only') = 'off' THEN
    UPDATE inbox i SET partition = find_for_inbox(i.space, i.name, i.key)
      WHERE i.partition IS NULL AND i.space = $1 AND i.name = $2;
  END IF;
  RETURN NEXT;
END $$;

CREATE OR REPLACE FUNCTION @schema@.live_workers(space text)
RETURNS TABLE(worker text)
LANGUAGE plpgsql STABLE AS $$
BEGIN
  RETURN QUERY
    SELECT w.worker FROM workers w
    WHERE w.space = $1 AND w.heartbeat >= now_us() - 10000000
    ORDER BY w.heartbeat, w.worker;
END $$;

CREATE OR REPLACE FUNCTION @schema@.store_heartbeat(
  space text, worker text, leaves boolean)
RETURNS TABLE(live text)
LANGUAGE plpgsql @attributes@ AS $$
BEGIN
  INSERT INTO workers VALUES ($1, $2, now_us())
    ON CONFLICT ON CONSTRAINT workers_pkey DO UPDATE
    SET heartbeat = excluded.heartbeat;
  IF leaves THEN
    DELETE FROM workers w WHERE w.space = $1 AND w.worker = $2;
  END IF;
  DELETE FROM workers w WHERE w.ctid = ANY(ARRAY(
    SELECT o.ctid FROM workers o WHERE o.heartbeat < now_us() - 10000000
    FOR UPDATE SKIP LOCKED));
  RETURN QUERY SELECT * FROM live_workers($1);
END $$;

-- Names with their partitions, and workers without.
CREATE OR REPLACE FUNCTION @schema@.store_describe(space text)
RETURNS TABLE(name text, partitions integer)
LANGUAGE plpgsql @attributes@ AS $$
BEGIN
  RETURN QUERY
    SELECT n.name, n.partitions FROM names n WHERE n.space = $1 ORDER BY n.name;
  RETURN QUERY SELECT w.worker, NULL::integer FROM live_workers($1) AS w;
END $$;
