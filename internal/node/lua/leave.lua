-- Sets how long the keys of the lock live on where they carry our token. It never deletes one and never makes one.
-- KEYS the lock's    ARGV[1] the token, [2] the life in milliseconds, at least 1    The answer is that of each.lua.
local before = nil -- only a key of our own
local function ours(key)
  redis.call('PEXPIRE', key, ARGV[2])
end
