#!lua flags=no-writes
-- waiter wait.get 1
-- include partition.lua
-- include rows.lua
return rows(ARGV)
