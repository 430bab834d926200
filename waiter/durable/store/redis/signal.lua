#!lua flags=allow-oom
-- waiter wait.signal 1
-- include partition.lua
-- include rows.lua
local ids = {unpack(ARGV, 2)}
for i, id in ipairs(ids) do
  local score = redis.call('ZSCORE', due, id)
  local record = redis.call('HGET', rec, id)
  local phase = record and string.sub(record, 1, 1)
  if ARGV[1] == 'f' then
    if phase == '2' and not score then
      redis.call('ZREM', done, id)
      for _, part in ipairs({rec, args, res}) do redis.call('HDEL', part, id) end
    end
  elseif score and phase == '0' then
    if tonumber(score) % 2 == 0 then redis.call('ZADD', due, 'XX', 'LT', even(now), id) end
    if ARGV[1] == 'c' then
      redis.call('SADD', cancel, id)
    else
      redis.call('HSET', notify, id, 1)
    end
  end
end
return rows(ids)
