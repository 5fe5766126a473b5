-- Behind a release: names the next in each queue who listens, unless somebody else has the lock.
-- ARGV[3] what channels begin with, [4] and on the queues; who is named is told which
-- {answer, 0}: nobody was named    {answer, 1, who was}    {answer, text}: there is no queue to be had
if failure then
  return failure
end
local named = 0
for i = 4, answer == -1 and 0 or #ARGV do
  for _ = 1, 64 do -- as many dead ones are passed over at once
    local id = redis.pcall('LPOP', ARGV[i])
    if type(id) == 'table' then
      return {answer, id.err}
    elseif not id then
      break
    end
    local heard = redis.pcall('PUBLISH', table.concat({ARGV[3], id}), ARGV[i])
    if type(heard) == 'table' then
      return {answer, heard.err}
    elseif heard > 0 then
      named = id
      break
    end
  end
end
if named == 0 then
  return {answer, 0}
end
return {answer, 1, named}
