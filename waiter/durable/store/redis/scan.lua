#!lua flags=no-writes
-- waiter wait.scan 1
-- include partition.lua
-- include rows.lua
local step = redis.call('HSCAN', rec, ARGV[1], 'COUNT', 250)
local ids = {}
for i = 1, #step[2], 2 do ids[#ids + 1] = step[2][i] end
return {step[1], rows(ids)}
