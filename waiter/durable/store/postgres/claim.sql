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
  fence := next_fence(part.fence, now_us + lease);
  RETURN QUERY
    WITH c AS MATERIALIZED (
      SELECT w.ctid AS place, w.due FROM pending w
      WHERE w.partition = part.id AND w.due >= part.first_due
        AND w.due <= store_claim.now_us
      ORDER BY w.partition, w.due LIMIT most),
    u AS (
      UPDATE pending w
      SET due = store_claim.fence, crashes = w.crashes + (c.due % 2)::integer
      FROM c WHERE w.ctid = c.place
      RETURNING c.due, w.key, w.record, w.crashes, w.marks, w.flags)
    SELECT NULL::bigint, NULL::bigint, NULL::bigint, u.key, u.record,
           CASE WHEN u.flags & 4 <> 0 THEN
             (SELECT s.args FROM waits s
              WHERE s.partition = part.id AND s.key = u.key) END,
           u.crashes, u.marks, u.flags
    FROM u ORDER BY u.due;
  GET DIAGNOSTICS count = ROW_COUNT;
  next := next_due(part);
  UPDATE partitions p
    SET fence = store_claim.fence,
        first_due = coalesce(next, 9223372036854775807)
    WHERE p.id = part.id;
  IF count < most THEN
    next_us := next;
  END IF;
  key := NULL;
  RETURN NEXT;
END $$;
