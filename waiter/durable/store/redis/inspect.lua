-- waiter server.inspect 1
-- Has no flags and asks for one section at a time, so that it also runs on a
-- server that is too old for the others.
local all = {}
for _, section in ipairs({'server', 'memory', 'persistence', 'replication'}) do
  local info = redis.pcall('INFO', section)
  if type(info) ~= 'string' then return '' end
  all[#all + 1] = info
end
return table.concat(all)
