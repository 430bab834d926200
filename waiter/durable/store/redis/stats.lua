#!lua flags=no-writes
-- waiter wait.stats 1
-- include partition.lua
local first = redis.call('ZRANGE', due, 0, 0, 'WITHSCORES')
return {text(now), redis.call('ZCARD', due), redis.call('ZCOUNT', due, '-inf', now - 2000000),
  first[2] and text(tonumber(first[2])) or '', redis.call('ZCARD', done), redis.call('HGETALL', meta)}
