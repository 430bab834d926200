-- Ends claims whose leases are over: what they hold is due again, and has seen
-- one more holder that vanished.
CREATE OR REPLACE FUNCTION @schema@.end_claims(
  part @schema@.partitions, now bigint) RETURNS void
LANGUAGE plpgsql AS $$
DECLARE
  one claims;
BEGIN
  FOR one IN
    DELETE FROM claims c WHERE c.partition = part.id AND c.fence <= now
    RETURNING c.*
  LOOP
    UPDATE pending w
      SET due = free_due(0, part.bound_due),
          crashes = w.crashes + 1 + (w.due % 2)::integer
      WHERE w.partition = part.id
        AND w.due BETWEEN one.from_due AND one.to_due
        AND (w.due, w.key) > (one.from_due, one.from_key)
        AND (w.due, w.key) <= (one.to_due, one.to_key);
  END LOOP;
END $$;

-- Claims waits that are due. The last row is about the call; those before it
-- are the waits, those due for longest first.
CREATE OR REPLACE FUNCTION @schema@.store_claim(
  space text, name text, number integer, most bigint, lease bigint)
RETURNS TABLE(
  now_us bigint, fence bigint, next_us bigint, key bytea, record bytea,
  args bytea, crashes integer, marks integer, flags integer)
LANGUAGE plpgsql @attributes@ AS $$
DECLARE
  part partitions := find_partition($1, $2, $3);
  next bigint := next_due(part);
  last_due bigint;
  last_key bytea;
  count bigint;
BEGIN
  now_us := now_us();
  IF next IS NULL OR next > now_us THEN
    next_us := next;
    RETURN NEXT;
    RETURN;
  END IF;
  -- Another worker that claims here leaves nothing to wait for.
  SELECT * INTO part FROM partitions p WHERE p.id = part.id
    FOR NO KEY UPDATE SKIP LOCKED;
  IF NOT FOUND THEN
    next_us := now_us;
    RETURN NEXT;
    RETURN;
  END IF;
  now_us := now_us();
  PERFORM end_claims(part, now_us);
  SELECT w.due, w.key INTO last_due, last_key FROM pending w
    WHERE w.partition = part.id AND w.due <= store_claim.now_us
      AND (w.partition, w.due, w.key) >
          (part.id, part.bound_due, part.bound_key)
    ORDER BY w.partition, w.due, w.key OFFSET most - 1 LIMIT 1;
  IF NOT FOUND THEN
    SELECT w.due, w.key INTO last_due, last_key FROM pending w
      WHERE w.partition = part.id AND w.due <= store_claim.now_us
        AND (w.partition, w.due, w.key) >
            (part.id, part.bound_due, part.bound_key)
      ORDER BY w.partition DESC, w.due DESC, w.key DESC LIMIT 1;
  END IF;
  count := 0;
  IF FOUND THEN
    fence := next_fence(part.fence, now_us + lease);
    RETURN QUERY
      SELECT NULL::bigint, NULL::bigint, NULL::bigint, w.key, w.record,
             CASE WHEN w.flags & 4 <> 0 THEN
               (SELECT s.args FROM waits s
                WHERE s.partition = part.id AND s.key = w.key) END,
             w.crashes + (w.due % 2)::integer, w.marks, w.flags
      FROM pending w
      WHERE w.partition = part.id
        AND w.due BETWEEN part.bound_due AND last_due
        AND (w.due, w.key) > (part.bound_due, part.bound_key)
        AND (w.due, w.key) <= (last_due, last_key)
      ORDER BY w.partition, w.due, w.key;
    GET DIAGNOSTICS count = ROW_COUNT;
    UPDATE pending w SET flags = w.flags & ~8
      WHERE w.partition = part.id AND w.flags & 8 <> 0
        AND (w.due, w.key) > (part.bound_due, part.bound_key)
        AND (w.due, w.key) <= (last_due, last_key);
    INSERT INTO claims VALUES (part.id, store_claim.fence, part.bound_due,
                               part.bound_key, last_due, last_key, count);
    UPDATE partitions p
      SET fence = store_claim.fence, bound_due = last_due, bound_key = last_key
      WHERE p.id = part.id;
    part.bound_due := last_due;
    part.bound_key := last_key;
  END IF;
  IF count < most THEN
    next_us := next_due(part);
  END IF;
  key := NULL;
  RETURN NEXT;
END $$;
