#!lua flags=allow-oom
-- waiter wait.cancel 1
-- include partition.lua
-- include rows.lua
for i, id in ipairs(ARGV) do
  local score = redis.call('ZSCORE', due, id)
  local record = redis.call('HGET', rec, id)
  if score and record and string.sub(record, 1, 1) == '0' then
    redis.call('SADD', cancel, id)
    if tonumber(score) % 2 == 0 then redis.call('ZADD', due, 'XX', 'LT', even(now), id) end
  end
end
return rows(ARGV)
