#!lua flags=allow-oom
-- waiter name.open 1
-- Only policies for all keys evict waits, as their keys have no time to live.
-- A user may be denied INFO.
local info = redis.pcall('INFO', 'memory')
local policy = type(info) == 'string' and string.match(info, 'maxmemory_policy:(allkeys%S*)')
if policy then
  return redis.error_reply(string.format(
    'EVICTS maxmemory-policy is %s, so the server may delete waits; set it to noeviction', policy))
end
redis.call('HSETNX', KEYS[1], ARGV[1], ARGV[2])
return tonumber(redis.call('HGET', KEYS[1], ARGV[1]))
