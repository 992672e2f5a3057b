-- When feedback was marked as done: it is kept for some days from then on.
ALTER TABLE feedback ADD COLUMN done bigint;
CREATE INDEX feedback_done ON feedback (done) WHERE activation = 0;
