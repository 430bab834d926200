-- Returns an odd number above all before.
local function next_fence(lease)
  local last = tonumber(redis.call('HGET', meta, 'fence') or 0)
  local fence = even(math.max(now + lease, last + 1)) + 1
  redis.call('HSET', meta, 'fence', fence)
  return fence
end
