#!lua flags=allow-oom
-- waiter wait.claim 1
-- include partition.lua
-- include fence.lua
local most, lease = tonumber(ARGV[1]), tonumber(ARGV[2])
local ids = redis.call('ZRANGE', due, '-inf', now, 'BYSCORE', 'LIMIT', 0, most)
local count = #ids
local may_be_more = count == most
-- Under a lease that has passed, all waits were settled, or the holder has vanished. Only then are
-- the numbers of waits looked at, as text costs more than all else.
for i, old in ipairs(redis.call('ZRANGE', leases, '-inf', now, 'BYSCORE')) do
  if redis.call('ZCOUNT', due, old, old) > 0 then
    local scores = redis.call('ZMSCORE', due, unpack(ids))
    for k, id in ipairs(ids) do
      if tonumber(scores[k]) % 2 == 1 then redis.call('HINCRBY', crash, id, 1) end
    end
    break
  end
  redis.call('ZREM', leases, old)
end
local fence, number, records, some_args, cancelled, crashes, marks = 0, '0', {}, {}, {}, {}, {}
local notified = {}
if count > 0 then
  fence = next_fence(lease)
  number = text(fence)
  redis.call('ZADD', leases, number, number)
  records = redis.call('HMGET', rec, unpack(ids))
  local moves, known = {}, {}
  for i = 1, count do
    local id = ids[i]
    if records[i] then
      known[#known + 1] = id
    else
      redis.call('ZREM', due, id)
      redis.call('HDEL', crash, id)
      redis.call('HINCRBY', meta, 'orphans', 1)
    end
  end
  if #known < count then
    ids, count = known, #known
    records = count > 0 and redis.call('HMGET', rec, unpack(ids)) or {}
  end
  for i = 1, count do
    moves[2 * i - 1] = number
    moves[2 * i] = ids[i]
  end
  if count > 0 then
    if exists(args) then some_args = redis.call('HMGET', args, unpack(ids)) end
    if exists(crash) then crashes = redis.call('HMGET', crash, unpack(ids)) end
    if exists(mark) then marks = redis.call('HMGET', mark, unpack(ids)) end
    if exists(cancel) then cancelled = redis.call('SMISMEMBER', cancel, unpack(ids)) end
    if exists(notify) then
      notified = redis.call('HMGET', notify, unpack(ids))
      for i = 1, count do
        if notified[i] == '1' then redis.call('HSET', notify, ids[i], 2) end
      end
    end
    redis.call('ZADD', due, 'XX', unpack(moves))
  end
end
local next_due = ''
if not may_be_more then
  local first = redis.call('ZRANGE', due, 0, 0, 'WITHSCORES')
  if first[2] then next_due = text(tonumber(first[2])) end
end
-- Columns, as Lua makes many tables at a price. Those of which nothing is stored are empty.
return {text(now), number, next_due, ids, records, some_args, crashes, marks, cancelled, notified}
