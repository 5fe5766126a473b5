-- Gives the keys of a lock that was taken over in vain back to the token they had, for the rest of their life.
-- KEYS the lock's    ARGV[1] the token that took over, [2] the one before    The answer is that of each.lua.
local before = nil -- only a key of our own
local function ours(key)
  redis.call('SET', key, ARGV[2], 'PX', math.max(redis.call('PTTL', key), 1))
end
