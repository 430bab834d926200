#!lua flags=no-writes
-- waiter wait.check 1
-- Looks at most at some 1000 members of one structure, and compares them with
-- the others at the same time, so that no change comes between.
-- include partition.lua
local tables = {rec, due, done, args, res, crash, mark, notify, cancel}
local scans = {'HSCAN', 'ZSCAN', 'ZSCAN', 'HSCAN', 'HSCAN', 'HSCAN', 'HSCAN', 'HSCAN', 'SSCAN'}
-- Args and results are large.
local counts = {1000, 1000, 1000, 250, 100, 1000, 1000, 1000, 1000}
local at, cursor = string.match(ARGV[1] == '' and '1:0' or ARGV[1], '^([1-9]):(%d+)$')
if not at then return redis.error_reply('ERR not a cursor') end
at = tonumber(at)
local step = redis.call(scans[at], tables[at], cursor, 'COUNT', counts[at])
local ids, phases, width = {}, {}, at == 9 and 1 or 2
for i = 1, #step[2], width do
  ids[#ids + 1] = step[2][i]
  if at == 1 then phases[#phases + 1] = string.sub(step[2][i + 1], 1, 1) end
end
local found, pending = {}, 0
-- A step may have more members than it was asked for.
for first = 1, #ids, 1000 do
  local last = math.min(first + 999, #ids)
  local scores, ends, records
  if at == 1 or at > 5 then scores = redis.call('ZMSCORE', due, unpack(ids, first, last)) end
  if at == 1 then ends = redis.call('ZMSCORE', done, unpack(ids, first, last)) end
  if at > 1 and at < 6 then records = redis.call('HMGET', rec, unpack(ids, first, last)) end
  for i = first, last do
    local place, is_faulty = i - first + 1, false
    if at == 1 then
      local is_delivered = phases[i] == '2'
      if not is_delivered and phases[i] ~= '1' then pending = pending + 1 end
      is_faulty = is_delivered == (scores[place] and true or false) or
        is_delivered ~= (ends[place] and true or false)
    elseif at < 6 then
      is_faulty = not records[place]
    else
      is_faulty = not scores[place]
    end
    if is_faulty then found[#found + 1] = ids[i] end
  end
end
local next_cursor = string.format('%d:%s', at, step[1])
if step[1] == '0' then next_cursor = at < 9 and string.format('%d:0', at + 1) or '' end
return {next_cursor, at == 1 and 1 or 0, #ids, pending, redis.call('ZCARD', due), redis.call('HGETALL', meta), found}
