#!lua flags=allow-oom
-- waiter worker.beat 1
local time = redis.call('TIME')
local now = time[1] * 1000000 + time[2]
if ARGV[2] == '1' then
  redis.call('ZREM', KEYS[1], ARGV[1])
else
  redis.call('ZADD', KEYS[1], now, ARGV[1])
end
redis.call('ZREMRANGEBYSCORE', KEYS[1], '-inf', now - 10000000)
redis.call('EXPIRE', KEYS[1], 60)
return redis.call('ZRANGE', KEYS[1], 0, -1)
