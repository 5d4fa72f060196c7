-- A statement that came a second time, with another publication of its artifact, got what it inherits from then under the
-- time of that publication. Its mentions have the time of its own row: windows of time and `kiln audit` rest on it.
UPDATE mentions m SET recorded = s.recorded FROM statements s
WHERE s.instance = m.instance AND s.payload_hash = m.payload_hash AND NOT m.own AND m.recorded <> s.recorded;
