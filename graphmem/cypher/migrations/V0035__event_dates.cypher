// All timeline events by their time, superseded ones too: a standing query asks which entities had a date that passed.
CREATE INDEX event_by_date IF NOT EXISTS FOR (n:TimelineEvent) ON (n.owner, n.at);
