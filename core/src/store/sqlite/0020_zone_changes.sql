-- Later time zones: the days from a date on are those of this zone. The zone of the first days is in `zone`.
CREATE TABLE zone_change (date INTEGER PRIMARY KEY, name TEXT NOT NULL) STRICT;
