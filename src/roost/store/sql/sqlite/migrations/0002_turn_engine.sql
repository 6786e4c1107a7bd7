-- min_version: 1
-- Indexes only: an older Roost keeps them without knowing them.

-- Turns that may go on by themselves after a crash: the latest ones are looked at.
CREATE INDEX turns_interrupted ON turns (ended_at) WHERE state = 'interrupted';
-- Turns that wait for a person. Few, and looked through whenever there may be work.
CREATE INDEX turns_parked ON turns (session_id) WHERE state = 'waiting';
-- What one claim holds, should it have to ask again.
CREATE INDEX leases_held ON leases (holder) WHERE holder IS NOT NULL;
CREATE INDEX approvals_of_turn ON approvals (turn_id);
