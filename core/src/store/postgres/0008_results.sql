-- The result of the answer, such as `success` or `incorrect pw`; null in requests of earlier versions, which no new line uses.
ALTER TABLE request ADD COLUMN result text COLLATE "C";
