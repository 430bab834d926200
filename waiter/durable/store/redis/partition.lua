-- The keys of a partition:
--
--   due      sorted set of pending keys, by the number of the wait
--   rec      hash of records
--   args     hash, of those that have any
--   res      hash of the values of successes
--   done     sorted set of delivered keys, by when to forget them
--   crash    hash: holders that vanished
--   mark     hash: polls of suspects that were never cleared
--   cancel   set of pending keys that are to end
--   leases   sorted set of the ends of leases under which waits may be held
--   meta     hash: the last fence, counters
--   notify   hash: 1 for a wait that is to be polled immediately, and 2 once
--            its holder knows that
--
-- All times are in microseconds of the server's TIME. Numbers go to redis.call
-- as they are, which writes all of their digits, or by `stamp`. No script joins
-- texts with two dots, which write numbers with 14 digits.
-- tests/support/wait_book.cc is the same in C++.
local due, rec, args, res, done = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5]
local crash, mark, cancel, leases, meta = KEYS[6], KEYS[7], KEYS[8], KEYS[9], KEYS[10]
local notify = KEYS[11]
local time = redis.call('TIME')
local now = time[1] * 1000000 + time[2]
local function text(value) return string.format('%.0f', value) end
-- The same of a time; faster, and right where integers have 32 bits.
local function stamp(value) return string.format('%d%06d', math.floor(value / 1000000), value % 1000000) end
local function exists(key) return redis.call('EXISTS', key) == 1 end
local function even(value)
  value = math.floor(value)
  return value - value % 2
end
