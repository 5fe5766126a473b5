-- Sets how long the keys of the lock live on where they carry our token. It never deletes one and never makes one.
-- KEYS the lock's    ARGV[1] the token, [2] the life in milliseconds, at least 1, [3] of a lock that was taken over the token before
-- The answer is that of each.lua.
local before = ARGV[3]
local function ours(key)
  redis.call('PEXPIRE', key, ARGV[2])
end
