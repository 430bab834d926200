-- The waits that are held under some fences, and where they are.
CREATE OR REPLACE FUNCTION @schema@.held_under(
  part @schema@.partitions, fences bigint[])
RETURNS TABLE(key bytea, fence bigint, place tid)
LANGUAGE plpgsql AS $$
DECLARE
  number bigint;
  one claims;
BEGIN
  FOR number IN SELECT DISTINCT f.number FROM unnest(fences) AS f(number) LOOP
    SELECT * INTO one FROM claims c
      WHERE c.partition = part.id AND c.fence = number;
    IF FOUND THEN
      RETURN QUERY
        SELECT w.key, number, w.ctid FROM pending w
        WHERE w.partition = part.id
          AND w.due BETWEEN one.from_due AND one.to_due
          AND (w.due, w.key) > (one.from_due, one.from_key)
          AND (w.due, w.key) <= (one.to_due, one.to_key);
    END IF;
    RETURN QUERY
      SELECT w.key, number, w.ctid FROM pending w
      WHERE w.partition = part.id AND w.due = number
        AND (w.partition, w.due, w.key) >
            (part.id, part.bound_due, part.bound_key);
  END LOOP;
END $$;

-- Does what holders ask for. The last row is about the call; those before it
-- are keys that the caller holds no longer (`is_lost`), or is to cancel.
CREATE OR REPLACE FUNCTION @schema@.store_settle(
  space text, name text, number integer, lease bigint, retain bigint,
  made bigint, keys bytea[], fences bigint[], actions "char"[],
  delays bigint[], records bytea[], results bytea[], reasons text[])
RETURNS TABLE(now_us bigint, fence bigint, key bytea, is_lost boolean)
LANGUAGE plpgsql @attributes@ SET enable_hashjoin = on AS $$
DECLARE
  part partitions := lock_partition($1, $2, $3);
  start bigint;
  stay bytea[];
  gone bytea[];
  cancelled bytea[];
  ends text[];
  delivered text[];
  ended bytea[];
  results_of bytea[];
  left_claims bigint[];
  delivered_claims bigint[];
BEGIN
  now_us := now_us();
  fence := next_fence(part.fence, now_us + lease);
  start := even(now_us);
  WITH h AS MATERIALIZED (SELECT * FROM held_under(part, fences)),
  u AS (
    UPDATE pending w
    SET due = CASE WHEN i.action <> 'r' THEN store_settle.fence
                   WHEN w.flags & 9 <> 0
                     THEN free_due(start, part.bound_due)
                   ELSE free_due(start + i.delay + i.delay % 2,
                                 part.bound_due) END,
        record = CASE WHEN i.record = '' THEN w.record ELSE i.record END,
        crashes = 0,
        flags = CASE WHEN i.action <> 'r' THEN w.flags
                     WHEN w.flags & 8 <> 0 THEN w.flags & ~8
                     ELSE w.flags & ~2 END
    FROM unnest(keys, fences, actions, delays, records, results, reasons)
      AS i(key, fence, action, delay, record, result, reason)
      JOIN h ON h.key = i.key AND h.fence = i.fence
    WHERE i.action IN ('r', 'h', 'f') AND w.ctid = h.place
    RETURNING w.key, w.flags, i.fence, i.action, i.result, i.reason)
  SELECT array_agg(u.key), array_agg(u.fence),
         array_agg(u.key) FILTER (WHERE u.action = 'h' AND u.flags & 1 <> 0),
         array_agg(u.reason) FILTER (WHERE u.action = 'f'),
         array_agg(u.key) FILTER (WHERE u.action = 'f' AND u.result <> ''),
         array_agg(u.result) FILTER (WHERE u.action = 'f' AND u.result <> '')
    INTO stay, left_claims, cancelled, ends, ended, results_of FROM u;
  IF ended IS NOT NULL THEN
    UPDATE waits s SET value = i.value
      FROM unnest(ended, results_of) AS i(key, value)
      WHERE s.partition = part.id AND s.key = i.key;
  END IF;
  IF 'k' = ANY(actions) OR 'e' = ANY(actions) THEN
    WITH h AS MATERIALIZED (SELECT * FROM held_under(part, fences)),
    g AS (
      DELETE FROM pending w
      USING unnest(keys, fences, actions, records, results, reasons)
        AS i(key, fence, action, record, result, reason)
        JOIN h ON h.key = i.key AND h.fence = i.fence
      WHERE i.action IN ('k', 'e') AND w.ctid = h.place
      RETURNING w.key, i.fence, i.action, i.reason, i.result,
        CASE WHEN i.record = '' THEN w.record ELSE i.record END AS record),
    d AS (
      DELETE FROM waits s USING g
      WHERE retain <= 0 AND s.partition = part.id AND s.key = g.key),
    k AS (
      UPDATE waits s
      SET record = g.record, forget = store_settle.now_us + retain,
          value = CASE WHEN g.action = 'e' AND g.result <> ''
                       THEN g.result ELSE s.value END
      FROM g WHERE retain > 0 AND s.partition = part.id AND s.key = g.key)
    SELECT array_agg(g.key), array_agg(g.fence),
           array_agg(g.reason) FILTER (WHERE g.action = 'e')
      INTO gone, delivered_claims, delivered FROM g;
    part.pending := part.pending - coalesce(cardinality(gone), 0);
    IF retain > 0 AND gone IS NOT NULL THEN
      part.kept := part.kept + cardinality(gone);
      part.first_forget := least(part.first_forget, now_us + retain);
    END IF;
  END IF;
  UPDATE claims c SET held = c.held - l.count
    FROM (SELECT f.fence, count(*) AS count
          FROM unnest(left_claims || delivered_claims) AS f(fence)
          GROUP BY f.fence) AS l
    WHERE c.partition = part.id AND c.fence = l.fence;
  DELETE FROM claims c
    WHERE c.partition = part.id AND c.fence = ANY(fences) AND c.held <= 0;
  IF ends IS NOT NULL OR delivered IS NOT NULL THEN
    INSERT INTO counters AS c
      SELECT part.id, r.reason, count(*)
      FROM unnest(ends || delivered) AS r(reason)
      GROUP BY r.reason ORDER BY r.reason
      ON CONFLICT (partition, counter) DO UPDATE
      SET count = c.count + excluded.count;
  END IF;
  -- Two for each item, so that the store keeps up.
  IF part.first_forget <= now_us THEN
    part := forget_some(part, now_us, 2 * cardinality(keys));
  END IF;
  UPDATE partitions p
    SET fence = store_settle.fence, first_forget = part.first_forget, pending = part.pending,
        kept = part.kept, polls = p.polls + made
    WHERE p.id = part.id;
  IF cancelled IS NOT NULL THEN
    RETURN QUERY
      SELECT NULL::bigint, NULL::bigint, c.key, false
      FROM unnest(cancelled) AS c(key);
  END IF;
  IF coalesce(cardinality(stay), 0) + coalesce(cardinality(gone), 0)
     < cardinality(keys) THEN
    RETURN QUERY
      SELECT NULL::bigint, NULL::bigint, l.key, true
      FROM (SELECT * FROM unnest(keys, fences)
            EXCEPT SELECT * FROM unnest(stay || gone,
                                        left_claims || delivered_claims))
        AS l(key, fence);
  END IF;
  key := NULL;
  RETURN NEXT;
END $$;

-- Deletes results that were kept for long enough. The partition is locked.
CREATE OR REPLACE FUNCTION @schema@.forget_some(
  part @schema@.partitions, now bigint, most bigint)
RETURNS @schema@.partitions
LANGUAGE plpgsql AS $$
DECLARE
  count bigint;
BEGIN
  DELETE FROM waits s WHERE s.ctid = ANY(ARRAY(
    SELECT o.ctid FROM waits o
    WHERE o.partition = part.id AND o.forget >= part.first_forget
      AND o.forget <= now
    ORDER BY o.partition, o.forget LIMIT most));
  GET DIAGNOSTICS count = ROW_COUNT;
  part.kept := part.kept - count;
  part.first_forget := coalesce(
    (SELECT o.forget FROM waits o
     WHERE o.partition = part.id AND o.forget >= part.first_forget
     ORDER BY o.partition, o.forget LIMIT 1),
    9223372036854775807);
  RETURN part;
END $$;
