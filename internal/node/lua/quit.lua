-- Takes a waiter off the queue of a lock. One that is not in it was named, and passes that on if the lock is still free.
-- KEYS[1] the lock's    ARGV[1] the waiter, [3] what channels begin with, [4] the queue
local answer, failure = -1, nil
local removed = redis.pcall('LREM', ARGV[4], 0, ARGV[1])
if type(removed) == 'table' then
  return {-1, removed.err}
end
if removed == 0 and redis.call('EXISTS', KEYS[1]) == 0 then
  answer = 0
end
