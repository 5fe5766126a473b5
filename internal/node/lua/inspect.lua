-- Tells who has a lock, and changes nothing.
-- KEYS[1] the lock's    ARGV[1] its counter, [2] its queue: no keys, since a server that refuses us those would refuse the script
-- {the token or nothing, the life in milliseconds, the counter or nothing, how many wait}
local counter = redis.pcall('GET', ARGV[1])
local waiting = redis.pcall('LLEN', ARGV[2])
return {
  redis.call('GET', KEYS[1]), redis.call('PTTL', KEYS[1]), type(counter) == 'string' and counter,
  type(waiting) == 'number' and waiting or 0,
}
