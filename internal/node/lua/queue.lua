-- Puts a waiter into the queue of a lock, unless that is free.
-- KEYS[1] the lock's    ARGV[1] the queue, [2] the waiter, [3] 1 where it belongs to the front, [4] 1 where it waits though the
-- lock is free, since somebody was named
-- {0}: the lock is free    {1, place from 0, how many wait, the life of who has the lock in milliseconds (-1: without an end, -2:
-- nobody has it), 1 where it was not in the queue before, else 0}    {-1, text}: there is no queue to be had
local life = redis.call('PTTL', KEYS[1])
if life == -2 and ARGV[4] ~= '1' then
  return {0}
end
local count = redis.pcall('LLEN', ARGV[1])
if type(count) == 'table' then
  return {-1, count.err}
elseif count > 1024 then -- so many never wait: who wrote the rest must not cost the server a long script for each of our polls
  return {-1, 'ERR the queue is too long'}
end
local list = redis.pcall('LRANGE', ARGV[1], 0, -1)
if list.err then
  return {-1, list.err}
end
local place
for i, id in ipairs(list) do
  if id == ARGV[2] then
    place = i - 1
  end
end
local fresh = place and 0 or 1
if place and place > 0 and ARGV[3] == '1' then
  redis.pcall('LREM', ARGV[1], 0, ARGV[2])
  place = nil
end
if not place then
  count = redis.pcall(ARGV[3] == '1' and 'LPUSH' or 'RPUSH', ARGV[1], ARGV[2])
  if type(count) == 'table' then
    return {-1, count.err}
  end
  place = ARGV[3] == '1' and 0 or count - 1
end
redis.pcall('PEXPIRE', ARGV[1], math.max(life, 0) + 1000)
return {1, place, count, life, fresh}
