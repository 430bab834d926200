#!lua flags=no-writes
-- waiter space.describe 1
local time = redis.call('TIME')
local now = time[1] * 1000000 + time[2]
return {redis.call('HGETALL', KEYS[1]), redis.call('ZRANGE', KEYS[2], now - 10000000, '+inf', 'BYSCORE')}
