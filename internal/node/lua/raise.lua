-- Writes a fence back where all the keys of the lock still carry our token.
-- KEYS the lock's, then as many counters    ARGV[1] the token, [2] the fence, [3] the retention in milliseconds
-- 1: no counter is below the fence    0: some keys were gone    -1: some are somebody else's
local locks = #KEYS / 2
local answer = 1
for i = 1, locks do
  local owner = redis.call('GET', KEYS[i])
  if owner and owner ~= ARGV[1] then
    return -1
  elseif not owner then
    answer = 0
  end
end
if answer == 0 then
  return 0
end
for i = locks + 1, #KEYS do
  local counter = redis.call('GET', KEYS[i])
  if counter and not string.match(counter, '^%d+$') then
    return redis.error_reply('ERR the counter of the fence is not a number')
  end
  if not counter or (tonumber(counter) or math.huge) < tonumber(ARGV[2]) then
    redis.call('SET', KEYS[i], ARGV[2], 'PX', ARGV[3])
  end
end
return 1
