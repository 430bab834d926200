#!lua
-- waiter wait.enqueue 1
-- include partition.lua
local most = tonumber(ARGV[1])
local count = (#ARGV - 1) / 5
local ids = {}
for i = 1, count do ids[i] = ARGV[5 * i - 3] end
local known = redis.call('HMGET', rec, unpack(ids))
local created, records, moves, seen = {}, {}, {}, {}
local record = {'', ''}
for i, id in ipairs(ids) do
  local at = 5 * i - 3
  -- A result that may be forgotten is.
  local ends = known[i] and redis.call('ZSCORE', done, id)
  if ends and tonumber(ends) <= now then known[i] = false end
  if known[i] or seen[id] then
    created[i] = '0'
  else
    seen[id] = true
    created[i] = '1'
    records[#records + 1] = id
    record[1] = string.format('0%.0f ', now - ARGV[at + 4])
    record[2] = ARGV[at + 2]
    records[#records + 1] = table.concat(record)
    moves[#moves + 1] = stamp(even(now + tonumber(ARGV[at + 1])))
    moves[#moves + 1] = id
  end
end
if #moves > 0 then
  if redis.call('ZCARD', due) + #moves / 2 > most then
    return redis.error_reply(string.format('FULL more than %.0f waits are pending', most))
  end
  local new = {}
  for i = 2, #moves, 2 do new[#new + 1] = moves[i] end
  if exists(done) then redis.call('ZREM', done, unpack(new)) end
  if exists(args) then redis.call('HDEL', args, unpack(new)) end
  if exists(res) then redis.call('HDEL', res, unpack(new)) end
  redis.call('HSET', rec, unpack(records))
  redis.call('ZADD', due, 'NX', unpack(moves))
  redis.call('HINCRBY', meta, 'enqueued', #moves / 2)
  for i, id in ipairs(ids) do
    if created[i] == '1' and ARGV[5 * i] ~= '' then redis.call('HSET', args, id, ARGV[5 * i]) end
  end
end
return {text(now), table.concat(created)}
