-- For `CheckDurableWaits`.

-- The states of some waits: the first byte of the record, whether the wait is
-- pending, kept, has counts of crashes and the like, and is in both tables.
CREATE OR REPLACE FUNCTION @schema@.states_of(
  part @schema@.partitions, keys bytea[])
RETURNS TABLE(key bytea, phase integer, is_due boolean, is_kept boolean,
              has_leftovers boolean, is_known boolean)
LANGUAGE plpgsql STABLE AS $$
BEGIN
  RETURN QUERY
    SELECT i.key,
           CASE WHEN length(coalesce(w.record, s.record)) > 0
                THEN get_byte(coalesce(w.record, s.record), 0) ELSE 0 END,
           w.key IS NOT NULL
             AND ((w.due, w.key) > (part.bound_due, part.bound_key)
                  OR claim_of(part, w.due, w.key) IS NOT NULL),
           s.forget IS NOT NULL,
           coalesce(w.crashes + w.marks + (w.flags & 11) > 0, false),
           s.key IS NOT NULL
    FROM unnest(keys) AS i(key)
    LEFT JOIN waits s ON s.partition = part.id AND s.key = i.key
    LEFT JOIN pending w ON w.partition = part.id AND w.key = i.key
    WHERE s.key IS NOT NULL OR w.key IS NOT NULL;
END $$;

-- The first row has the counts; those after it are the waits whose keys follow
-- `last`.
CREATE OR REPLACE FUNCTION @schema@.store_check(
  space text, name text, number integer, last bytea, most bigint)
RETURNS TABLE(key bytea, phase integer, is_due boolean, is_kept boolean,
              has_leftovers boolean, is_known boolean, due bigint, fence bigint,
              enqueued bigint, ended bigint, orphans bigint)
LANGUAGE plpgsql @attributes@ AS $$
DECLARE
  part partitions := find_partition($1, $2, $3);
BEGIN
  due := coalesce(part.pending, 0);
  fence := coalesce(part.fence, 0);
  SELECT coalesce(sum(c.count) FILTER (WHERE c.counter = 'enqueued'), 0),
         coalesce(sum(c.count) FILTER (WHERE c.counter = 'orphans'), 0),
         coalesce(sum(c.count) FILTER (
           WHERE c.counter NOT IN ('enqueued', 'orphans')), 0)
    INTO enqueued, orphans, ended
    FROM counters c WHERE c.partition = part.id;
  RETURN NEXT;
  RETURN QUERY
    SELECT s.*, NULL::bigint, NULL::bigint, NULL::bigint, NULL::bigint,
           NULL::bigint
    FROM states_of(part, ARRAY(
      SELECT k.key FROM (
        (SELECT s.key FROM waits s WHERE s.partition = part.id AND s.key > last
         ORDER BY s.partition, s.key LIMIT most)
        UNION
        (SELECT w.key FROM pending w
         WHERE w.partition = part.id AND w.key > last
         ORDER BY w.partition, w.key LIMIT most)) AS k
      ORDER BY k.key LIMIT most)) AS s
    ORDER BY s.key;
END $$;

-- Returns what there is of some keys, or was before the repair: what is
-- delivered is kept for a day, or longer, and all else is due.
CREATE OR REPLACE FUNCTION @schema@.store_examine(
  space text, name text, number integer, keys bytea[], repairs boolean,
  missing bigint)
RETURNS TABLE(key bytea, phase integer, is_due boolean, is_kept boolean,
              has_leftovers boolean, is_known boolean)
LANGUAGE plpgsql @attributes@ AS $$
DECLARE
  part partitions := lock_partition($1, $2, $3);
  now bigint := now_us();
  one record;
BEGIN
  RETURN QUERY SELECT * FROM states_of(part, keys);
  IF NOT repairs THEN
    RETURN;
  END IF;
  FOR one IN SELECT * FROM states_of(part, keys) LOOP
    IF NOT one.is_known THEN
      missing := missing + 1;
    END IF;
    IF one.is_known AND one.phase <> 50 THEN
      IF NOT one.is_due THEN
        UPDATE pending w SET due = free_due(now, part.bound_due)
          WHERE w.partition = part.id AND w.key = one.key;
        INSERT INTO pending(partition, due, key, flags, record)
          SELECT part.id, free_due(now, part.bound_due), s.key,
                 CASE WHEN s.args = '' THEN 0 ELSE 4 END,
                 coalesce(s.record, '')
          FROM waits s
          WHERE s.partition = part.id AND s.key = one.key AND NOT FOUND;
      END IF;
      UPDATE waits s SET forget = NULL, record = NULL
        WHERE s.partition = part.id AND s.key = one.key;
    ELSE
      UPDATE waits s
        SET forget = coalesce(s.forget, now + 86400000000),
            record = coalesce(s.record, w.record, '2')
        FROM (SELECT (array_agg(w.record))[1] AS record FROM pending w
              WHERE w.partition = part.id AND w.key = one.key) AS w
        WHERE s.partition = part.id AND s.key = one.key;
      DELETE FROM pending w WHERE w.partition = part.id AND w.key = one.key;
    END IF;
  END LOOP;
  UPDATE partitions p
    SET pending = (SELECT count(*) FROM pending w WHERE w.partition = p.id),
        kept = (SELECT count(*) FROM waits s
                WHERE s.partition = p.id AND s.forget IS NOT NULL),
        first_forget = 0
    WHERE p.id = part.id;
  IF missing <> 0 THEN
    INSERT INTO counters AS c
      VALUES (part.id, CASE WHEN missing > 0 THEN 'orphans' ELSE 'enqueued' END,
              abs(missing))
      ON CONFLICT ON CONSTRAINT counters_pkey DO UPDATE
      SET count = c.count + excluded.count;
  END IF;
END $$;

-- Settings of the server that endanger waits, and the age of the oldest
-- transaction that this role may see.
CREATE OR REPLACE FUNCTION @schema@.store_inspect()
RETURNS TABLE(server text, database text, fsync text, synchronous_commit text,
              full_page_writes text, autovacuum text, read_only text,
              oldest_us bigint)
LANGUAGE sql STABLE AS $$
  SELECT current_setting('server_version'), current_database()::text,
         current_setting('fsync'), current_setting('synchronous_commit'),
         current_setting('full_page_writes'), current_setting('autovacuum'),
         current_setting('transaction_read_only'),
         (SELECT (extract(epoch FROM clock_timestamp() - min(a.xact_start))
                  * 1000000)::bigint
          FROM pg_stat_activity a
          WHERE a.backend_xmin IS NOT NULL AND a.datname = current_database())
$$;
