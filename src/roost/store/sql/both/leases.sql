-- name: live_lease
SELECT name, holder, token, since, until FROM leases
WHERE name = :name AND holder IS NOT NULL AND until > :now;

-- An expired lease that nobody has claimed since is still its holder's to renew.
-- name: renew_lease
UPDATE leases SET until = :now + :ttl
WHERE name = :name AND token = :token AND holder = :holder
RETURNING 1;

-- name: release_lease
UPDATE leases SET holder = NULL, until = :now
WHERE name = :name AND token = :token AND holder = :holder;

-- name: release_session_lease
UPDATE leases SET holder = NULL, until = :now
WHERE name = 'session:' || :session AND token = :token;
