#!lua flags=allow-oom
-- waiter worker.beat 1
local time = redis.call('TIME')
local now = time[1] * 1000000 + time[2]
redis.call('ZADD', KEYS[1], now, ARGV[1])
redis.call('ZREMRANGEBYSCORE', KEYS[1], '-inf', now - 10000000)
redis.call('EXPIRE', KEYS[1], 60)
return redis.call('ZRANGE', KEYS[1], 0, -1)
