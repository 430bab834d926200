#!lua flags=allow-oom
-- waiter wait.mark 1
-- include partition.lua
if ARGV[2] == '1' then return redis.call('HINCRBY', mark, ARGV[1], 1) end
redis.call('HDEL', mark, ARGV[1])
redis.call('HDEL', crash, ARGV[1])
return 0
