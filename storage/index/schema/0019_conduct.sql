-- How a worker's leases have ended (coordinator/queue/conduct.h), and when a lease ends whatever its worker says.
ALTER TABLE fleet ADD COLUMN proven integer NOT NULL DEFAULT 0;    -- leases that ended well, halved by each that did not
ALTER TABLE fleet ADD COLUMN bad_ends integer NOT NULL DEFAULT 0;  -- in a row
ALTER TABLE fleet ADD COLUMN held_back_until timestamptz;          -- gets only what nobody else could take
ALTER TABLE runs ADD COLUMN deadline timestamptz;  -- of the lease; NULL: given by a coordinator of the release before
