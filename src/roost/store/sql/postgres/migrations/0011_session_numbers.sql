-- min_version: 7
-- Only the view through which SQLite finds the sessions of its messages, by numbers that it keeps for its
-- pages' sake: both read messages here.
CREATE VIEW message_rows AS SELECT * FROM messages;
