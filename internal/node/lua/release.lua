-- Deletes the keys of the lock where they still carry our token, or the one that it took over, and nothing else.
-- KEYS the lock's    ARGV[1] the token, [2] of a lock that was taken over the one before    The answer is that of each.lua.
local before = ARGV[2]
local function ours(key)
  redis.call('DEL', key)
end
