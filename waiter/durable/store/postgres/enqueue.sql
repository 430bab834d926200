-- Counts the keys of which there is no wait, or only a result that may be
-- forgotten.
CREATE OR REPLACE FUNCTION @schema@.count_new(
  partition integer, keys bytea[], now bigint) RETURNS bigint
LANGUAGE plpgsql @attributes@ AS $$
BEGIN
  RETURN (SELECT count(DISTINCT i.key) FROM unnest(keys) AS i(key)
          WHERE NOT EXISTS (
            SELECT FROM waits s
            WHERE s.partition = count_new.partition AND s.key = i.key
              AND (s.forget IS NULL OR s.forget > now)));
END $$;

-- Adds waits. `created` has a 1 for each that is new, and a 0 for each that was
-- there; it is NULL if there is no room.
CREATE OR REPLACE FUNCTION @schema@.store_enqueue(
  space text, name text, number integer, most bigint, keys bytea[],
  delays bigint[], records bytea[], all_args bytea[], ages bigint[])
RETURNS TABLE(now_us bigint, created text)
LANGUAGE plpgsql @attributes@ SET enable_hashjoin = on AS $$
DECLARE
  part partitions := lock_partition($1, $2, $3);
  count bigint;
BEGIN
  now_us := now_us();
  IF part.pending + cardinality(keys) > most THEN
    count := count_new(part.id, keys, now_us);
    IF count > 0 AND part.pending + count > most THEN
      RETURN NEXT;
      RETURN;
    END IF;
  END IF;
  IF part.first_forget <= now_us THEN
    DELETE FROM waits s WHERE s.partition = part.id AND s.key = ANY(keys)
      AND s.forget <= store_enqueue.now_us;
    GET DIAGNOSTICS count = ROW_COUNT;
    part.kept := part.kept - count;
  END IF;
  WITH i AS (
    SELECT * FROM unnest(keys, delays, records, all_args, ages) WITH ORDINALITY
      AS i(key, delay, record, args, age, place)),
  f AS (
    SELECT DISTINCT ON (i.key) * FROM i ORDER BY i.key, i.place),
  n AS (
    INSERT INTO waits AS s (partition, key, args)
      SELECT part.id, f.key, f.args FROM f ON CONFLICT DO NOTHING
      RETURNING s.key),
  a AS (
    INSERT INTO pending AS w (partition, due, key, flags, record)
      SELECT part.id,
             free_due(store_enqueue.now_us + f.delay, part.bound_due), f.key,
             CASE WHEN f.args = '' THEN 0 ELSE 4 END,
             convert_to('0' || (store_enqueue.now_us - f.age) || ' ', 'UTF8')
               || f.record
      FROM f JOIN n ON n.key = f.key
      RETURNING w.key)
  SELECT count(a.key),
         string_agg(CASE WHEN a.key IS NULL THEN '0' ELSE '1' END, ''
                    ORDER BY i.place)
    INTO count, created
    FROM i LEFT JOIN f ON f.place = i.place LEFT JOIN a ON a.key = f.key;
  IF count > 0 THEN
    INSERT INTO counters AS c VALUES (part.id, 'enqueued', count)
      ON CONFLICT (partition, counter) DO UPDATE
      SET count = c.count + excluded.count;
  END IF;
  UPDATE partitions p
    SET pending = part.pending + count, kept = part.kept
    WHERE p.id = part.id;
  RETURN NEXT;
END $$;

-- For programs, in transactions of their own; docs/durable.md describes them.

CREATE OR REPLACE FUNCTION @schema@.enqueue(
  space text, name text, key bytea, args bytea DEFAULT '',
  timeout interval DEFAULT NULL, first_delay interval DEFAULT '0')
RETURNS void
LANGUAGE plpgsql SET search_path = @schema@, pg_temp AS $$
BEGIN
  INSERT INTO inbox(partition, space, name, key, args, timeout_us,
                    first_delay_us, born_us)
    VALUES (find_for_inbox($1, $2, $3), $1, $2, $3, $4,
            (extract(epoch FROM timeout) * 1000000)::bigint,
            (extract(epoch FROM first_delay) * 1000000)::bigint, now_us());
END $$;

CREATE OR REPLACE FUNCTION @schema@.enqueue(
  space text, name text, key text, args text DEFAULT '',
  timeout interval DEFAULT NULL, first_delay interval DEFAULT '0')
RETURNS void
LANGUAGE sql AS $$
  SELECT @schema@.enqueue($1, $2, convert_to($3, 'UTF8'),
                          convert_to($4, 'UTF8'), $5, $6)
$$;

CREATE OR REPLACE FUNCTION @schema@.put_signal(
  space text, name text, key bytea, signal text)
RETURNS void
LANGUAGE plpgsql SET search_path = @schema@, pg_temp AS $$
BEGIN
  INSERT INTO inbox(partition, space, name, key, signal, born_us)
    VALUES (find_for_inbox($1, $2, $3), $1, $2, $3, $4, now_us());
END $$;

CREATE OR REPLACE FUNCTION @schema@.cancel(space text, name text, key bytea)
RETURNS void
LANGUAGE sql AS $$ SELECT @schema@.put_signal($1, $2, $3, 'cancel') $$;

CREATE OR REPLACE FUNCTION @schema@.cancel(space text, name text, key text)
RETURNS void
LANGUAGE sql AS $$
  SELECT @schema@.cancel($1, $2, convert_to($3, 'UTF8'))
$$;

CREATE OR REPLACE FUNCTION @schema@.notify(space text, name text, key bytea)
RETURNS void
LANGUAGE sql AS $$ SELECT @schema@.put_signal($1, $2, $3, 'notify') $$;

CREATE OR REPLACE FUNCTION @schema@.notify(space text, name text, key text)
RETURNS void
LANGUAGE sql AS $$
  SELECT @schema@.notify($1, $2, convert_to($3, 'UTF8'))
$$;

-- The partition of a key, or NULL if nobody has used the name.
CREATE OR REPLACE FUNCTION @schema@.find_for_inbox(
  space text, name text, key bytea) RETURNS integer
LANGUAGE plpgsql STABLE SET search_path = @schema@, pg_temp AS $$
BEGIN
  RETURN (SELECT p.id FROM names n JOIN partitions p
            ON p.space = n.space AND p.name = n.name
            AND p.number = partition_number($3, n.partitions)
          WHERE n.space = $1 AND n.name = $2);
END $$;
