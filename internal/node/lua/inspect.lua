-- Tells who has a lock, and changes nothing.
-- KEYS[1] the lock's    ARGV[1] its counter: no key, since a server that refuses us that one would refuse the whole script
-- {the token or nothing, the life in milliseconds, the counter or nothing}
local counter = redis.pcall('GET', ARGV[1])
return {redis.call('GET', KEYS[1]), redis.call('PTTL', KEYS[1]), type(counter) == 'string' and counter}
