-- How long runs took lately: coordinator/queue/usual_time.h.
CREATE INDEX attempts_done ON attempts (ended DESC) WHERE outcome = 'done';
