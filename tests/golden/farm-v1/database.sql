SET statement_timeout = 0;
SET lock_timeout = 0;
SET idle_in_transaction_session_timeout = 0;
SET client_encoding = 'UTF8';
SET standard_conforming_strings = on;
SELECT pg_catalog.set_config('search_path', '', false);
SET check_function_bodies = false;
SET xmloption = content;
SET client_min_messages = warning;
SET row_security = off;
CREATE FUNCTION public.refuse_change() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
BEGIN
  RAISE EXCEPTION '% is append-only', TG_TABLE_NAME;
END $$;
CREATE FUNCTION public.stamp_job() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
BEGIN
  NEW.revision := nextval('revisions');
  PERFORM pg_notify('kiln_job', NEW.instance || ' ' || NEW.id);
  RETURN NEW;
END $$;
CREATE FUNCTION public.stamp_run() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
BEGIN
  NEW.revision := nextval('revisions');
  PERFORM pg_notify('kiln_job', NEW.instance || ' ' || NEW.job_id);
  IF NEW.state = 0 THEN
    PERFORM pg_notify('kiln_queue', '');
  END IF;
  RETURN NEW;
END $$;
SET default_tablespace = '';
SET default_table_access_method = heap;
CREATE TABLE public.action_results (
    instance text NOT NULL,
    run_id text NOT NULL,
    epoch bigint NOT NULL,
    job_id text NOT NULL,
    action_hash bytea NOT NULL,
    worker text NOT NULL,
    operator text NOT NULL,
    exit_code integer NOT NULL,
    outputs_hash bytea NOT NULL,
    result bytea NOT NULL,
    receipt text NOT NULL,
    certificate text NOT NULL,
    leased timestamp with time zone NOT NULL,
    recorded timestamp with time zone NOT NULL,
    disputed boolean DEFAULT false NOT NULL
);
CREATE TABLE public.actions (
    instance text NOT NULL,
    hash bytea NOT NULL,
    size bigint NOT NULL,
    kind smallint NOT NULL,
    target text NOT NULL,
    CONSTRAINT actions_hash_check CHECK ((length(hash) = 32))
);
CREATE TABLE public.artifact_actions (
    instance text NOT NULL,
    action_hash bytea NOT NULL,
    artifact_hash bytea NOT NULL
);
CREATE TABLE public.artifact_files (
    instance text NOT NULL,
    artifact_hash bytea NOT NULL,
    path text NOT NULL,
    media_type text NOT NULL,
    hash bytea NOT NULL,
    size bigint NOT NULL
);
CREATE TABLE public.artifacts (
    instance text NOT NULL,
    hash bytea NOT NULL,
    size bigint NOT NULL,
    config_hash bytea NOT NULL,
    config_size bigint NOT NULL,
    target text NOT NULL,
    toolchain_label text NOT NULL,
    toolchain_hash bytea NOT NULL,
    fixtures_hash bytea,
    fixtures_size bigint,
    published timestamp with time zone NOT NULL,
    CONSTRAINT artifacts_hash_check CHECK ((length(hash) = 32))
);
CREATE TABLE public.attempts (
    instance text NOT NULL,
    run_id text NOT NULL,
    epoch bigint NOT NULL,
    worker text NOT NULL,
    operator text NOT NULL,
    leased timestamp with time zone NOT NULL,
    ended timestamp with time zone,
    outcome text DEFAULT ''::text NOT NULL,
    error text DEFAULT ''::text NOT NULL
);
CREATE TABLE public.builders (
    instance text NOT NULL,
    payload_hash bytea NOT NULL,
    artifact_hash bytea NOT NULL,
    worker text NOT NULL,
    operator text NOT NULL
);
CREATE TABLE public.farm (
    only_row boolean DEFAULT true NOT NULL,
    generation bigint NOT NULL,
    system_identifier text NOT NULL,
    timeline integer NOT NULL,
    CONSTRAINT farm_generation_check CHECK ((generation > 0)),
    CONSTRAINT farm_only_row_check CHECK (only_row)
);
CREATE TABLE public.job_actions (
    instance text NOT NULL,
    job_id text NOT NULL,
    ordinal integer NOT NULL,
    action_hash bytea NOT NULL,
    source integer
);
CREATE TABLE public.job_targets (
    instance text NOT NULL,
    job_id text NOT NULL,
    ordinal integer NOT NULL,
    target text NOT NULL,
    artifact_hash bytea,
    cached boolean DEFAULT false NOT NULL,
    builders text[] DEFAULT '{}'::text[] NOT NULL,
    check_outcome smallint DEFAULT 0 NOT NULL
);
CREATE TABLE public.jobs (
    instance text NOT NULL,
    id text NOT NULL,
    idempotency_key text NOT NULL,
    request_hash bytea NOT NULL,
    state smallint NOT NULL,
    cancel_wanted boolean DEFAULT false NOT NULL,
    reuse boolean DEFAULT true NOT NULL,
    submitted timestamp with time zone NOT NULL,
    ended timestamp with time zone,
    toolchain_label text NOT NULL,
    toolchain_hash bytea NOT NULL,
    toolchain_size bigint NOT NULL,
    options text NOT NULL,
    delivery text NOT NULL,
    model_name text NOT NULL,
    error_code integer DEFAULT 0 NOT NULL,
    error_message text DEFAULT ''::text NOT NULL,
    error_exit integer DEFAULT 0 NOT NULL,
    error_details text DEFAULT ''::text NOT NULL,
    revision bigint DEFAULT 0 NOT NULL
);
CREATE TABLE public.materials (
    instance text NOT NULL,
    payload_hash bytea NOT NULL,
    artifact_hash bytea NOT NULL,
    kind text NOT NULL,
    name text NOT NULL,
    uri text NOT NULL,
    hash bytea NOT NULL,
    size bigint NOT NULL
);
CREATE SEQUENCE public.revisions
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1;
CREATE TABLE public.runs (
    instance text NOT NULL,
    id text NOT NULL,
    job_id text NOT NULL,
    action_hash bytea NOT NULL,
    action_size bigint NOT NULL,
    kind smallint NOT NULL,
    target text NOT NULL,
    toolchain_hash bytea NOT NULL,
    git_url text DEFAULT ''::text NOT NULL,
    git_commit text DEFAULT ''::text NOT NULL,
    git_path text DEFAULT ''::text NOT NULL,
    priority integer NOT NULL,
    operators_wanted integer NOT NULL,
    excluded_workers text[] DEFAULT '{}'::text[] NOT NULL,
    counted_operators text[] DEFAULT '{}'::text[] NOT NULL,
    time_limit integer NOT NULL,
    state smallint NOT NULL,
    queued timestamp with time zone NOT NULL,
    attempts integer DEFAULT 0 NOT NULL,
    epoch bigint DEFAULT 0 NOT NULL,
    worker text DEFAULT ''::text NOT NULL,
    operator text DEFAULT ''::text NOT NULL,
    expires timestamp with time zone,
    stage text DEFAULT ''::text NOT NULL,
    avoid_worker text DEFAULT ''::text NOT NULL,
    avoid_until timestamp with time zone,
    error_code integer DEFAULT 0 NOT NULL,
    error_message text DEFAULT ''::text NOT NULL,
    revision bigint DEFAULT 0 NOT NULL
);
CREATE TABLE public.schema_version (
    number integer NOT NULL,
    name text NOT NULL,
    sha256 text NOT NULL,
    applied_at timestamp with time zone DEFAULT now() NOT NULL
);
CREATE TABLE public.sources (
    instance text NOT NULL,
    job_id text NOT NULL,
    ordinal integer NOT NULL,
    path text NOT NULL,
    hash bytea,
    size bigint,
    git_url text DEFAULT ''::text NOT NULL,
    git_commit text DEFAULT ''::text NOT NULL,
    git_path text DEFAULT ''::text NOT NULL,
    origin_url text DEFAULT ''::text NOT NULL,
    origin_commit text DEFAULT ''::text NOT NULL,
    origin_path text DEFAULT ''::text NOT NULL
);
CREATE TABLE public.statements (
    instance text NOT NULL,
    payload_hash bytea NOT NULL,
    artifact_hash bytea NOT NULL,
    predicate_type text NOT NULL,
    bundle_hash bytea NOT NULL,
    bundle_size bigint NOT NULL,
    job_id text NOT NULL,
    recorded timestamp with time zone NOT NULL
);
CREATE TABLE public.toolchain_defaults (
    instance text NOT NULL,
    label text NOT NULL
);
CREATE TABLE public.toolchains (
    instance text NOT NULL,
    label text NOT NULL,
    hash bytea NOT NULL,
    size bigint NOT NULL,
    description text NOT NULL,
    targets text[] NOT NULL,
    added timestamp with time zone NOT NULL,
    CONSTRAINT toolchains_hash_check CHECK ((length(hash) = 32))
);
CREATE TABLE public.workers (
    name text NOT NULL,
    operator text NOT NULL,
    certificate bytea NOT NULL,
    description bytea NOT NULL,
    targets text[] NOT NULL,
    kinds smallint[] NOT NULL,
    draining boolean NOT NULL,
    first_contact timestamp with time zone NOT NULL,
    last_contact timestamp with time zone NOT NULL,
    runs text[] DEFAULT '{}'::text[] NOT NULL
);
INSERT INTO public.action_results VALUES ('default', '01a3185c500006ebf8b443aacd365b5e8f8d0572eb73', 4294967297, '01a3185c500016b1325e38397c03ecc411c97b947549', '\x657d19afc8f3050b31542f08ba36540efe85d547f4c0b5e4206747f8fc15a4af', 'w1', 'op', 0, '\xf2e4281602b4c7660fedb5f1c679f8170c222e5654910104a26649a2e6be7099', '\x125d0a146f75747075742f65766964656e63652e6a736f6e12450a403936633637373933666364333332323661633631376638303539653738636333383531376263306535653832633237656162663634663630366366306336333510e904125d0a146f75747075742f6d616e69666573742e6a736f6e12450a403866336635373561363133643265383166643239303662376336343030383766383265316363363530366536643566646366653066383637656365616639333910900b12590a116f75747075742f70726f6772616d2e736f12440a4034353039376636613636336334363263373437313366353866656335383132623030636639346438613839363732646138656134333166303036393434303636100c125f0a176f75747075742f776569676874732f303030302e62696e12440a40396131323930333864396130306165643063663661376561303539636135306138313334343930363161623837383438636631613133656166646633336232631007', '{"payload":"eyJhY3Rpb24iOnsic2hhMjU2IjoiNjU3ZDE5YWZjOGYzMDUwYjMxNTQyZjA4YmEzNjU0MGVmZTg1ZDU0N2Y0YzBiNWU0MjA2NzQ3ZjhmYzE1YTRhZiIsInNpemUiOiIxNDIifSwiZXBvY2giOiI0Mjk0OTY3Mjk3IiwiZXhpdENvZGUiOjAsImxlYXNlIjoiMDFhMzE4NWM1MDAwMDZlYmY4YjQ0M2FhY2QzNjViNWU4ZjhkMDU3MmViNzMiLCJvcGVyYXRvciI6Im9wIiwib3V0cHV0cyI6W3sicGF0aCI6Im91dHB1dC9ldmlkZW5jZS5qc29uIiwic2hhMjU2IjoiOTZjNjc3OTNmY2QzMzIyNmFjNjE3ZjgwNTllNzhjYzM4NTE3YmMwZTVlODJjMjdlYWJmNjRmNjA2Y2YwYzYzNSIsInNpemUiOiI2MTcifSx7InBhdGgiOiJvdXRwdXQvbWFuaWZlc3QuanNvbiIsInNoYTI1NiI6IjhmM2Y1NzVhNjEzZDJlODFmZDI5MDZiN2M2NDAwODdmODJlMWNjNjUwNmU2ZDVmZGNmZTBmODY3ZWNlYWY5MzkiLCJzaXplIjoiMTQyNCJ9LHsicGF0aCI6Im91dHB1dC9wcm9ncmFtLnNvIiwic2hhMjU2IjoiNDUwOTdmNmE2NjNjNDYyYzc0NzEzZjU4ZmVjNTgxMmIwMGNmOTRkOGE4OTY3MmRhOGVhNDMxZjAwNjk0NDA2NiIsInNpemUiOiIxMiJ9LHsicGF0aCI6Im91dHB1dC93ZWlnaHRzLzAwMDAuYmluIiwic2hhMjU2IjoiOWExMjkwMzhkOWEwMGFlZDBjZjZhN2VhMDU5Y2E1MGE4MTM0NDkwNjFhYjg3ODQ4Y2YxYTEzZWFmZGYzM2IyYyIsInNpemUiOiI3In1dLCJzYW5kYm94UG9saWN5Ijp7InNoYTI1NiI6ImVhMDI2MDg2M2I2NmIxMDViYmJjYTVmMzJlOGE2NTIyZDlkNDY5ZmEwYTBhMmFmZGMzMGE5OTNjOGEyMzgyMzYiLCJzaXplIjoiMzgifSwid29ya2VyIjoidzEifQ==","payloadType":"application/vnd.kiln.receipt.v1+json","signatures":[{"sig":"MEUCIQDLSLXFLj2m2BNIhnpWXjZ8hlT+KwineuHUXHckJjcleAIgT5AWkv27LV4jVCSliDIYgmaudXiCNGPlL5AixI3rj+w="}]}', '-----BEGIN CERTIFICATE-----
MIIBXzCCAQagAwIBAgIQMya2+Rqi2W/I2XkCMqI0CTAKBggqhkjOPQQDAjAoMQ0w
CwYDVQQKDARraWxuMRcwFQYDVQQDDA5raWxuLXdvcmtlci1jYTAeFw0yNzAxMTUw
NzAwMDBaFw0yODAxMTUwODAwMDBaMBoxCzAJBgNVBAoMAm9wMQswCQYDVQQDDAJ3
MTBZMBMGByqGSM49AgEGCCqGSM49AwEHA0IABM71h54XJdz451y6wqSMw8XTl7wd
6M2fsMZF1PuuPQa9SqphIsWod7Oca/ksFpWWpkKKdOExwzYD9lwCKX+ayMSjIDAe
MAwGA1UdEwEB/wQCMAAwDgYDVR0PAQH/BAQDAgeAMAoGCCqGSM49BAMCA0cAMEQC
IAUvlrfm8uOSbWqph9fMpf0A6oZebcMeYv5GDA6SlYvgAiBSsZBgrT74jkMbNu4p
vgHVruKXFCdfX67kCp8Rb4i0YQ==
', '2027-01-15 08:00:00+00', '2027-01-15 08:00:00+00', false);
INSERT INTO public.action_results VALUES ('default', '01a3185c5000f219b326b31c96293ed5c10cb006cf9a', 4294967297, '01a3185c500016b1325e38397c03ecc411c97b947549', '\xc0dbcb4919e8f8c4839fefab6cb91040da0e5eda2e7f840a8e06f8dd52179dc0', 'w1', 'op', 0, '\x21eeed9ca7b03846b01d85346988543863d5f88c466fa759db891b18a9feb2f1', '\x12620a1a6f75747075742f64656661756c742f696e7075745f302e6e707912440a40303662306666653964373431306138353539386265636530373632633432663137306663626262303435616631313238626439366461393237666232326239631049125d0a146f75747075742f66697874757265732e6a736f6e12450a4061383034653134663433383033613938336161373936306166383530623830306239613763636639326361363139373531653133393432346536316534343465108f02', '{"payload":"eyJhY3Rpb24iOnsic2hhMjU2IjoiYzBkYmNiNDkxOWU4ZjhjNDgzOWZlZmFiNmNiOTEwNDBkYTBlNWVkYTJlN2Y4NDBhOGUwNmY4ZGQ1MjE3OWRjMCIsInNpemUiOiIxNDIifSwiZXBvY2giOiI0Mjk0OTY3Mjk3IiwiZXhpdENvZGUiOjAsImxlYXNlIjoiMDFhMzE4NWM1MDAwZjIxOWIzMjZiMzFjOTYyOTNlZDVjMTBjYjAwNmNmOWEiLCJvcGVyYXRvciI6Im9wIiwib3V0cHV0cyI6W3sicGF0aCI6Im91dHB1dC9kZWZhdWx0L2lucHV0XzAubnB5Iiwic2hhMjU2IjoiMDZiMGZmZTlkNzQxMGE4NTU5OGJlY2UwNzYyYzQyZjE3MGZjYmJiMDQ1YWYxMTI4YmQ5NmRhOTI3ZmIyMmI5YyIsInNpemUiOiI3MyJ9LHsicGF0aCI6Im91dHB1dC9maXh0dXJlcy5qc29uIiwic2hhMjU2IjoiYTgwNGUxNGY0MzgwM2E5ODNhYTc5NjBhZjg1MGI4MDBiOWE3Y2NmOTJjYTYxOTc1MWUxMzk0MjRlNjFlNDQ0ZSIsInNpemUiOiIyNzEifV0sInNhbmRib3hQb2xpY3kiOnsic2hhMjU2IjoiZWEwMjYwODYzYjY2YjEwNWJiYmNhNWYzMmU4YTY1MjJkOWQ0NjlmYTBhMGEyYWZkYzMwYTk5M2M4YTIzODIzNiIsInNpemUiOiIzOCJ9LCJ3b3JrZXIiOiJ3MSJ9","payloadType":"application/vnd.kiln.receipt.v1+json","signatures":[{"sig":"MEYCIQCjKsvFRXC0R8RNerO/O/XV68oR2ycVwIJJpp6AV7jnCwIhANpmaF9HlF2+TmKCHwB5iU25G0W2smjWk1wLwG98ygJ8"}]}', '-----BEGIN CERTIFICATE-----
MIIBXzCCAQagAwIBAgIQMya2+Rqi2W/I2XkCMqI0CTAKBggqhkjOPQQDAjAoMQ0w
CwYDVQQKDARraWxuMRcwFQYDVQQDDA5raWxuLXdvcmtlci1jYTAeFw0yNzAxMTUw
NzAwMDBaFw0yODAxMTUwODAwMDBaMBoxCzAJBgNVBAoMAm9wMQswCQYDVQQDDAJ3
MTBZMBMGByqGSM49AgEGCCqGSM49AwEHA0IABM71h54XJdz451y6wqSMw8XTl7wd
6M2fsMZF1PuuPQa9SqphIsWod7Oca/ksFpWWpkKKdOExwzYD9lwCKX+ayMSjIDAe
MAwGA1UdEwEB/wQCMAAwDgYDVR0PAQH/BAQDAgeAMAoGCCqGSM49BAMCA0cAMEQC
IAUvlrfm8uOSbWqph9fMpf0A6oZebcMeYv5GDA6SlYvgAiBSsZBgrT74jkMbNu4p
vgHVruKXFCdfX67kCp8Rb4i0YQ==
', '2027-01-15 08:00:00+00', '2027-01-15 08:00:00+00', false);
INSERT INTO public.action_results VALUES ('default', '01a3185c50007d1986c5c77c0c0aeba72e07cc794825', 4294967297, '01a3185c500016b1325e38397c03ecc411c97b947549', '\x657d19afc8f3050b31542f08ba36540efe85d547f4c0b5e4206747f8fc15a4af', 'w2', 'other', 0, '\xf2e4281602b4c7660fedb5f1c679f8170c222e5654910104a26649a2e6be7099', '\x125d0a146f75747075742f65766964656e63652e6a736f6e12450a403936633637373933666364333332323661633631376638303539653738636333383531376263306535653832633237656162663634663630366366306336333510e904125d0a146f75747075742f6d616e69666573742e6a736f6e12450a403866336635373561363133643265383166643239303662376336343030383766383265316363363530366536643566646366653066383637656365616639333910900b12590a116f75747075742f70726f6772616d2e736f12440a4034353039376636613636336334363263373437313366353866656335383132623030636639346438613839363732646138656134333166303036393434303636100c125f0a176f75747075742f776569676874732f303030302e62696e12440a40396131323930333864396130306165643063663661376561303539636135306138313334343930363161623837383438636631613133656166646633336232631007', '{"payload":"eyJhY3Rpb24iOnsic2hhMjU2IjoiNjU3ZDE5YWZjOGYzMDUwYjMxNTQyZjA4YmEzNjU0MGVmZTg1ZDU0N2Y0YzBiNWU0MjA2NzQ3ZjhmYzE1YTRhZiIsInNpemUiOiIxNDIifSwiZXBvY2giOiI0Mjk0OTY3Mjk3IiwiZXhpdENvZGUiOjAsImxlYXNlIjoiMDFhMzE4NWM1MDAwN2QxOTg2YzVjNzdjMGMwYWViYTcyZTA3Y2M3OTQ4MjUiLCJvcGVyYXRvciI6Im90aGVyIiwib3V0cHV0cyI6W3sicGF0aCI6Im91dHB1dC9ldmlkZW5jZS5qc29uIiwic2hhMjU2IjoiOTZjNjc3OTNmY2QzMzIyNmFjNjE3ZjgwNTllNzhjYzM4NTE3YmMwZTVlODJjMjdlYWJmNjRmNjA2Y2YwYzYzNSIsInNpemUiOiI2MTcifSx7InBhdGgiOiJvdXRwdXQvbWFuaWZlc3QuanNvbiIsInNoYTI1NiI6IjhmM2Y1NzVhNjEzZDJlODFmZDI5MDZiN2M2NDAwODdmODJlMWNjNjUwNmU2ZDVmZGNmZTBmODY3ZWNlYWY5MzkiLCJzaXplIjoiMTQyNCJ9LHsicGF0aCI6Im91dHB1dC9wcm9ncmFtLnNvIiwic2hhMjU2IjoiNDUwOTdmNmE2NjNjNDYyYzc0NzEzZjU4ZmVjNTgxMmIwMGNmOTRkOGE4OTY3MmRhOGVhNDMxZjAwNjk0NDA2NiIsInNpemUiOiIxMiJ9LHsicGF0aCI6Im91dHB1dC93ZWlnaHRzLzAwMDAuYmluIiwic2hhMjU2IjoiOWExMjkwMzhkOWEwMGFlZDBjZjZhN2VhMDU5Y2E1MGE4MTM0NDkwNjFhYjg3ODQ4Y2YxYTEzZWFmZGYzM2IyYyIsInNpemUiOiI3In1dLCJzYW5kYm94UG9saWN5Ijp7InNoYTI1NiI6ImVhMDI2MDg2M2I2NmIxMDViYmJjYTVmMzJlOGE2NTIyZDlkNDY5ZmEwYTBhMmFmZGMzMGE5OTNjOGEyMzgyMzYiLCJzaXplIjoiMzgifSwid29ya2VyIjoidzIifQ==","payloadType":"application/vnd.kiln.receipt.v1+json","signatures":[{"sig":"MEQCIDxeVPoKcrmmY6v3JTBSMJ6KBo43tYLUiIS7FHPSSoCuAiB7Gi4yR9DGzTbcJSWy9rQR4QL7LR98NK+p4l4Fl/vUng=="}]}', '-----BEGIN CERTIFICATE-----
MIIBYzCCAQmgAwIBAgIQZ32gDj9XfUgXRi50mPGlcjAKBggqhkjOPQQDAjAoMQ0w
CwYDVQQKDARraWxuMRcwFQYDVQQDDA5raWxuLXdvcmtlci1jYTAeFw0yNzAxMTUw
NzAwMDBaFw0yODAxMTUwODAwMDBaMB0xDjAMBgNVBAoMBW90aGVyMQswCQYDVQQD
DAJ3MjBZMBMGByqGSM49AgEGCCqGSM49AwEHA0IABE26EIgEZgpGAbdLuDFRfP7j
lib4jMflGqzsURn8av46Hn9awbmFdSRPLWxNlMO25MEuV/t2W6OXTW+2w80eP1mj
IDAeMAwGA1UdEwEB/wQCMAAwDgYDVR0PAQH/BAQDAgeAMAoGCCqGSM49BAMCA0gA
MEUCIQDLNV04+Q4Nnva5C5EKkU1Djebl8o1HvakJA+ytiFyHoAIgBG6vhiznzC8E
mQSFprz+T2fdHw4wdUXthqloAP3oXPw=
', '2027-01-15 08:00:00+00', '2027-01-15 08:00:00+00', false);
INSERT INTO public.actions VALUES ('default', '\x657d19afc8f3050b31542f08ba36540efe85d547f4c0b5e4206747f8fc15a4af', 142, 3, 'cpu:x86-64-v3');
INSERT INTO public.actions VALUES ('default', '\xc0dbcb4919e8f8c4839fefab6cb91040da0e5eda2e7f840a8e06f8dd52179dc0', 142, 2, '');
INSERT INTO public.artifact_actions VALUES ('default', '\x657d19afc8f3050b31542f08ba36540efe85d547f4c0b5e4206747f8fc15a4af', '\x619a9f7b9c4e563cced5aa402449ed88c93e9097781b6a269afd2917f578d3cf');
INSERT INTO public.artifact_files VALUES ('default', '\x619a9f7b9c4e563cced5aa402449ed88c93e9097781b6a269afd2917f578d3cf', 'program.so', 'application/vnd.kiln.program.v1+elf', '\x45097f6a663c462c74713f58fec5812b00cf94d8a89672da8ea431f006944066', 12);
INSERT INTO public.artifact_files VALUES ('default', '\x619a9f7b9c4e563cced5aa402449ed88c93e9097781b6a269afd2917f578d3cf', 'weights/0000.bin', 'application/vnd.kiln.weights.v1', '\x9a129038d9a00aed0cf6a7ea059ca50a813449061ab87848cf1a13eafdf33b2c', 7);
INSERT INTO public.artifacts VALUES ('default', '\x619a9f7b9c4e563cced5aa402449ed88c93e9097781b6a269afd2917f578d3cf', 715, '\x8f3f575a613d2e81fd2906b7c640087f82e1cc6506e6d5fdcfe0f867eceaf939', 1424, 'cpu:x86-64-v3', 'kiln-0.1.0+llvm22.1.8', '\x8c75ec46f8eba31b7ed0253c4c61affb6ba5c092f6eaed67d8ba01d4483946bb', '\x2dcac838891ccb3e0c019157749bd96f06afe5772ac8f7cb141b1ed2070a494f', 169, '2027-01-15 08:00:00+00');
INSERT INTO public.attempts VALUES ('default', '01a3185c500006ebf8b443aacd365b5e8f8d0572eb73', 4294967297, 'w1', 'op', '2027-01-15 08:00:00+00', '2027-01-15 08:00:00+00', 'done', '');
INSERT INTO public.attempts VALUES ('default', '01a3185c5000f219b326b31c96293ed5c10cb006cf9a', 4294967297, 'w1', 'op', '2027-01-15 08:00:00+00', '2027-01-15 08:00:00+00', 'done', '');
INSERT INTO public.attempts VALUES ('default', '01a3185c50007d1986c5c77c0c0aeba72e07cc794825', 4294967297, 'w2', 'other', '2027-01-15 08:00:00+00', '2027-01-15 08:00:00+00', 'done', '');
INSERT INTO public.builders VALUES ('default', '\x0a1d78fcac64d2a11fe1a861ac42b1df85f70562b25624acc72e5860fd6561de', '\x619a9f7b9c4e563cced5aa402449ed88c93e9097781b6a269afd2917f578d3cf', 'w1', 'op');
INSERT INTO public.builders VALUES ('default', '\x0a1d78fcac64d2a11fe1a861ac42b1df85f70562b25624acc72e5860fd6561de', '\x619a9f7b9c4e563cced5aa402449ed88c93e9097781b6a269afd2917f578d3cf', 'w2', 'other');
INSERT INTO public.farm VALUES (true, 1, '7710235949916153068', 1);
INSERT INTO public.job_actions VALUES ('default', '01a3185c500016b1325e38397c03ecc411c97b947549', 0, '\xc0dbcb4919e8f8c4839fefab6cb91040da0e5eda2e7f840a8e06f8dd52179dc0', NULL);
INSERT INTO public.job_actions VALUES ('default', '01a3185c500016b1325e38397c03ecc411c97b947549', 1, '\x657d19afc8f3050b31542f08ba36540efe85d547f4c0b5e4206747f8fc15a4af', NULL);
INSERT INTO public.job_targets VALUES ('default', '01a3185c500016b1325e38397c03ecc411c97b947549', 0, 'cpu:x86-64-v3', '\x619a9f7b9c4e563cced5aa402449ed88c93e9097781b6a269afd2917f578d3cf', false, '{w1,w2}', 0);
INSERT INTO public.jobs VALUES ('default', '01a3185c500016b1325e38397c03ecc411c97b947549', 'golden', '\x0f55b8770200ea97123030cd530f61f46ff413b61cb6ae76b210f69928e5c043', 4, false, true, '2027-01-15 08:00:00+00', '2027-01-15 08:00:00+00', 'kiln-0.1.0+llvm22.1.8', '\x8c75ec46f8eba31b7ed0253c4c61affb6ba5c092f6eaed67d8ba01d4483946bb', 166, '{"budgets":{"artifactBytes":"0","plannedBytes":"0"},"fallback":"fail","numerics":{"contraction":"on","precision":"f32","reassociation":"off"},"outOfProfile":"fail","pins":[],"profiles":[{"dims":[],"name":"default"}]}', '{"apiVersion":"kiln/v1","builders":2,"kind":"DeliverySpec","noCache":false,"operators":1,"priority":0,"timeLimitSeconds":3600}', 'm.onnx', 0, '', 0, '', 12);
INSERT INTO public.materials VALUES ('default', '\x0a1d78fcac64d2a11fe1a861ac42b1df85f70562b25624acc72e5860fd6561de', '\x619a9f7b9c4e563cced5aa402449ed88c93e9097781b6a269afd2917f578d3cf', 'toolchain', 'toolchain', '', '\x8c75ec46f8eba31b7ed0253c4c61affb6ba5c092f6eaed67d8ba01d4483946bb', 166);
INSERT INTO public.materials VALUES ('default', '\x0a1d78fcac64d2a11fe1a861ac42b1df85f70562b25624acc72e5860fd6561de', '\x619a9f7b9c4e563cced5aa402449ed88c93e9097781b6a269afd2917f578d3cf', 'model', 'input/model.onnx', '', '\x97ff8a35544dcf40ad84047074439dd6aa3a0be469ea578a1b1c017d939ec61c', 7);
INSERT INTO public.materials VALUES ('default', '\x0a1d78fcac64d2a11fe1a861ac42b1df85f70562b25624acc72e5860fd6561de', '\x619a9f7b9c4e563cced5aa402449ed88c93e9097781b6a269afd2917f578d3cf', 'component', 'kiln-cc bin/kiln-cc', '', '\x2045b830beb9090694d5730c1cdb8ff6d29e8d60594f5b993185148f2544bd4c', 12);
INSERT INTO public.runs VALUES ('default', '01a3185c500006ebf8b443aacd365b5e8f8d0572eb73', '01a3185c500016b1325e38397c03ecc411c97b947549', '\x657d19afc8f3050b31542f08ba36540efe85d547f4c0b5e4206747f8fc15a4af', 142, 3, 'cpu:x86-64-v3', '\x8c75ec46f8eba31b7ed0253c4c61affb6ba5c092f6eaed67d8ba01d4483946bb', '', '', '', 0, 1, '{}', '{}', 3600, 2, '2027-01-15 08:00:00+00', 1, 4294967297, 'w1', 'op', NULL, '', '', NULL, 0, '', 7);
INSERT INTO public.runs VALUES ('default', '01a3185c5000f219b326b31c96293ed5c10cb006cf9a', '01a3185c500016b1325e38397c03ecc411c97b947549', '\xc0dbcb4919e8f8c4839fefab6cb91040da0e5eda2e7f840a8e06f8dd52179dc0', 142, 2, '', '\x8c75ec46f8eba31b7ed0253c4c61affb6ba5c092f6eaed67d8ba01d4483946bb', '', '', '', 0, 1, '{}', '{}', 3600, 2, '2027-01-15 08:00:00+00', 1, 4294967297, 'w1', 'op', NULL, '', '', NULL, 0, '', 8);
INSERT INTO public.runs VALUES ('default', '01a3185c50007d1986c5c77c0c0aeba72e07cc794825', '01a3185c500016b1325e38397c03ecc411c97b947549', '\x657d19afc8f3050b31542f08ba36540efe85d547f4c0b5e4206747f8fc15a4af', 142, 3, 'cpu:x86-64-v3', '\x8c75ec46f8eba31b7ed0253c4c61affb6ba5c092f6eaed67d8ba01d4483946bb', '', '', '', 0, 1, '{}', '{}', 3600, 2, '2027-01-15 08:00:00+00', 1, 4294967297, 'w2', 'other', NULL, '', '', NULL, 0, '', 10);
INSERT INTO public.schema_version VALUES (1, 'farm', 'e8590a511821d58a71cb15cfa7d222e65e675b7c3f6e0a584d447499d41b846e', '2026-11-20 12:53:21.619634+00');
INSERT INTO public.schema_version VALUES (2, 'jobs', '27ad9dbcf83d5a0d6702aef70aac931346f6a1f0c043dc2905231ea76805606e', '2026-11-20 12:53:21.619634+00');
INSERT INTO public.schema_version VALUES (3, 'queue', '4fb99f8bdc81b32d302d379554d04583ccde02680039b3cbfdd6d58a85f8c97e', '2026-11-20 12:53:21.619634+00');
INSERT INTO public.schema_version VALUES (4, 'artifacts', 'b7ca1c206cdab53faf7c1482fb469ad4eabe01a8dba0b47762cbacd293e19b3b', '2026-11-20 12:53:21.619634+00');
INSERT INTO public.schema_version VALUES (5, 'checks', '25c43fa26f3edb8ad370be033bd76d51cdc01eeef4b177636df322f3cd513229', '2026-11-20 12:53:21.619634+00');
INSERT INTO public.sources VALUES ('default', '01a3185c500016b1325e38397c03ecc411c97b947549', 0, 'model.onnx', '\x97ff8a35544dcf40ad84047074439dd6aa3a0be469ea578a1b1c017d939ec61c', 7, '', '', '', '', '', '');
INSERT INTO public.statements VALUES ('default', '\x0a1d78fcac64d2a11fe1a861ac42b1df85f70562b25624acc72e5860fd6561de', '\x619a9f7b9c4e563cced5aa402449ed88c93e9097781b6a269afd2917f578d3cf', 'https://slsa.dev/provenance/v1', '\x9dca469fb4f6da83c040808fb93c192d0b9e18d66625174cc775259be9aaf9b1', 3623, '01a3185c500016b1325e38397c03ecc411c97b947549', '2027-01-15 08:00:00+00');
INSERT INTO public.toolchain_defaults VALUES ('default', 'kiln-0.1.0+llvm22.1.8');
INSERT INTO public.toolchains VALUES ('default', 'kiln-0.1.0+llvm22.1.8', '\x8c75ec46f8eba31b7ed0253c4c61affb6ba5c092f6eaed67d8ba01d4483946bb', 166, '{"apiVersion":"kiln/v1","components":[{"digest":"sha256:2045b830beb9090694d5730c1cdb8ff6d29e8d60594f5b993185148f2544bd4c","name":"kiln-cc","path":"bin/kiln-cc","size":"12","version":"0.1.0"}],"kind":"Toolchain","label":"kiln-0.1.0+llvm22.1.8","name":"kiln","targets":["cpu:x86-64-v3"],"version":"0.1.0"}', '{cpu:x86-64-v3}', '2027-01-15 08:00:00+00');
INSERT INTO public.workers VALUES ('w1', 'op', '\x92d460b89a52ca3a620c83d648214e0308120f779c7628aceeeff8ee67d20387', '\x0a02773112026f701a0d6370753a7838362d36342d76332002329a042d2d2d2d2d424547494e2043455254494649434154452d2d2d2d2d0a4d494942587a43434151616741774942416749514d7961322b52716932572f4932586b434d7149304354414b42676771686b6a4f50515144416a416f4d5130770a437759445651514b44415272615778754d526377465159445651514444413572615778754c586476636d746c6369316a59544165467730794e7a41784d5455770a4e7a41774d444261467730794f4441784d5455774f4441774d4442614d426f78437a414a42674e5642416f4d416d39774d517377435159445651514444414a330a4d54425a4d424d4742797147534d34394167454743437147534d34394177454841304941424d3731683534584a647a34353179367771534d773858546c3777640a364d3266734d5a463150757550516139537170684973576f64374f63612f6b7346705757706b4b4b644f4578777a5944396c77434b582b61794d536a494441650a4d41774741315564457745422f7751434d41417744675944565230504151482f42415144416765414d416f4743437147534d343942414d43413063414d4551430a494155766c72666d38754f53625771706839664d70663041366f5a6562634d6559763547444136536c59766741694253735a4267725437346a6b4d624e7534700a7667485672754b58464364665836376b437038526234693059513d3d0a2d2d2d2d2d454e442043455254494649434154452d2d2d2d2d0a3a03010203', '{cpu:x86-64-v3}', '{1,2,3}', false, '2027-01-15 08:00:00+00', '2027-01-15 08:00:00+00', '{}');
INSERT INTO public.workers VALUES ('w2', 'other', '\xe64497d79d6b2f2dee70249d7e7834090da629a23b0751de55387120b603497e', '\x0a02773212056f746865721a0d6370753a7838362d36342d76332002329e042d2d2d2d2d424547494e2043455254494649434154452d2d2d2d2d0a4d494942597a434341516d6741774942416749515a333267446a395866556758526935306d50476c636a414b42676771686b6a4f50515144416a416f4d5130770a437759445651514b44415272615778754d526377465159445651514444413572615778754c586476636d746c6369316a59544165467730794e7a41784d5455770a4e7a41774d444261467730794f4441784d5455774f4441774d4442614d423078446a414d42674e5642416f4d42573930614756794d51737743515944565151440a44414a334d6a425a4d424d4742797147534d34394167454743437147534d3439417745484130494142453236454967455a6770474162644c754446526650376a0a6c6962346a4d666c47717a7355526e3861763436486e396177626d46645352504c57784e6c4d4f32354d4575562f743257364f5854572b327738306550316d6a0a494441654d41774741315564457745422f7751434d41417744675944565230504151482f42415144416765414d416f4743437147534d343942414d43413067410a4d4555434951444c4e5630342b51344e6e7661354335454b6b5531446a65626c386f314876616b4a412b7974694679486f4149674247367668697a6e7a4338450a6d51534670727a2b54326664487734776455587468716c6f4150336f5850773d0a2d2d2d2d2d454e442043455254494649434154452d2d2d2d2d0a3a03010203', '{cpu:x86-64-v3}', '{1,2,3}', false, '2027-01-15 08:00:00+00', '2027-01-15 08:00:00+00', '{}');
SELECT pg_catalog.setval('public.revisions', 12, true);
ALTER TABLE ONLY public.action_results
    ADD CONSTRAINT action_results_pkey PRIMARY KEY (instance, run_id, epoch);
ALTER TABLE ONLY public.actions
    ADD CONSTRAINT actions_pkey PRIMARY KEY (instance, hash);
ALTER TABLE ONLY public.artifact_actions
    ADD CONSTRAINT artifact_actions_pkey PRIMARY KEY (instance, action_hash);
ALTER TABLE ONLY public.artifact_files
    ADD CONSTRAINT artifact_files_pkey PRIMARY KEY (instance, artifact_hash, path);
ALTER TABLE ONLY public.artifacts
    ADD CONSTRAINT artifacts_pkey PRIMARY KEY (instance, hash);
ALTER TABLE ONLY public.attempts
    ADD CONSTRAINT attempts_pkey PRIMARY KEY (instance, run_id, epoch);
ALTER TABLE ONLY public.builders
    ADD CONSTRAINT builders_pkey PRIMARY KEY (instance, payload_hash, worker);
ALTER TABLE ONLY public.farm
    ADD CONSTRAINT farm_pkey PRIMARY KEY (only_row);
ALTER TABLE ONLY public.job_actions
    ADD CONSTRAINT job_actions_pkey PRIMARY KEY (instance, job_id, ordinal);
ALTER TABLE ONLY public.job_targets
    ADD CONSTRAINT job_targets_pkey PRIMARY KEY (instance, job_id, ordinal);
ALTER TABLE ONLY public.jobs
    ADD CONSTRAINT jobs_instance_idempotency_key_key UNIQUE (instance, idempotency_key);
ALTER TABLE ONLY public.jobs
    ADD CONSTRAINT jobs_pkey PRIMARY KEY (instance, id);
ALTER TABLE ONLY public.materials
    ADD CONSTRAINT materials_pkey PRIMARY KEY (instance, payload_hash, kind, name);
ALTER TABLE ONLY public.runs
    ADD CONSTRAINT runs_pkey PRIMARY KEY (instance, id);
ALTER TABLE ONLY public.schema_version
    ADD CONSTRAINT schema_version_pkey PRIMARY KEY (number);
ALTER TABLE ONLY public.sources
    ADD CONSTRAINT sources_pkey PRIMARY KEY (instance, job_id, ordinal);
ALTER TABLE ONLY public.statements
    ADD CONSTRAINT statements_pkey PRIMARY KEY (instance, payload_hash);
ALTER TABLE ONLY public.toolchain_defaults
    ADD CONSTRAINT toolchain_defaults_pkey PRIMARY KEY (instance);
ALTER TABLE ONLY public.toolchains
    ADD CONSTRAINT toolchains_pkey PRIMARY KEY (instance, label);
ALTER TABLE ONLY public.workers
    ADD CONSTRAINT workers_pkey PRIMARY KEY (name);
CREATE INDEX action_results_by_action ON public.action_results USING btree (instance, action_hash, recorded);
CREATE INDEX action_results_by_worker ON public.action_results USING btree (instance, worker, recorded);
CREATE INDEX artifact_actions_by_artifact ON public.artifact_actions USING btree (instance, artifact_hash);
CREATE INDEX artifact_files_by_blob ON public.artifact_files USING btree (instance, hash);
CREATE INDEX artifacts_by_config ON public.artifacts USING btree (instance, config_hash);
CREATE INDEX artifacts_by_toolchain ON public.artifacts USING btree (instance, toolchain_hash, published);
CREATE INDEX artifacts_newest ON public.artifacts USING btree (instance, published DESC, hash);
CREATE INDEX attempts_by_worker ON public.attempts USING btree (worker, leased);
CREATE INDEX builders_by_artifact ON public.builders USING btree (instance, artifact_hash);
CREATE INDEX builders_by_operator ON public.builders USING btree (instance, operator, artifact_hash);
CREATE INDEX builders_by_worker ON public.builders USING btree (instance, worker, artifact_hash);
CREATE INDEX job_actions_by_action ON public.job_actions USING btree (instance, action_hash);
CREATE INDEX job_targets_by_artifact ON public.job_targets USING btree (instance, artifact_hash);
CREATE INDEX jobs_newest ON public.jobs USING btree (instance, submitted DESC, id DESC);
CREATE INDEX jobs_open ON public.jobs USING btree (submitted) WHERE (state = ANY (ARRAY[1, 2, 3]));
CREATE INDEX materials_by_artifact ON public.materials USING btree (instance, artifact_hash);
CREATE INDEX materials_by_hash ON public.materials USING btree (instance, hash, artifact_hash);
CREATE INDEX materials_by_uri ON public.materials USING btree (instance, uri, artifact_hash) WHERE (uri <> ''::text);
CREATE INDEX runs_by_job ON public.runs USING btree (instance, job_id);
CREATE INDEX runs_by_worker ON public.runs USING btree (worker) WHERE (state = 1);
CREATE INDEX runs_leased ON public.runs USING btree (expires) WHERE (state = 1);
CREATE INDEX runs_queue ON public.runs USING btree (priority DESC, queued) WHERE (state = 0);
CREATE INDEX statements_by_artifact ON public.statements USING btree (instance, artifact_hash, recorded);
CREATE INDEX statements_by_bundle ON public.statements USING btree (instance, bundle_hash);
CREATE INDEX toolchains_by_tree ON public.toolchains USING btree (instance, hash);
CREATE TRIGGER jobs_revision BEFORE INSERT OR UPDATE ON public.jobs FOR EACH ROW EXECUTE FUNCTION public.stamp_job();
CREATE TRIGGER runs_changed BEFORE UPDATE ON public.runs FOR EACH ROW WHEN (((old.state <> new.state) OR (old.stage <> new.stage) OR (old.epoch <> new.epoch))) EXECUTE FUNCTION public.stamp_run();
CREATE TRIGGER runs_inserted BEFORE INSERT ON public.runs FOR EACH ROW EXECUTE FUNCTION public.stamp_run();
CREATE TRIGGER toolchains_append_only BEFORE DELETE OR UPDATE ON public.toolchains FOR EACH ROW EXECUTE FUNCTION public.refuse_change();
ALTER TABLE ONLY public.action_results
    ADD CONSTRAINT action_results_instance_run_id_fkey FOREIGN KEY (instance, run_id) REFERENCES public.runs(instance, id) ON DELETE CASCADE;
ALTER TABLE ONLY public.artifact_actions
    ADD CONSTRAINT artifact_actions_instance_artifact_hash_fkey FOREIGN KEY (instance, artifact_hash) REFERENCES public.artifacts(instance, hash) ON DELETE CASCADE;
ALTER TABLE ONLY public.artifact_files
    ADD CONSTRAINT artifact_files_instance_artifact_hash_fkey FOREIGN KEY (instance, artifact_hash) REFERENCES public.artifacts(instance, hash) ON DELETE CASCADE;
ALTER TABLE ONLY public.attempts
    ADD CONSTRAINT attempts_instance_run_id_fkey FOREIGN KEY (instance, run_id) REFERENCES public.runs(instance, id) ON DELETE CASCADE;
ALTER TABLE ONLY public.builders
    ADD CONSTRAINT builders_instance_payload_hash_fkey FOREIGN KEY (instance, payload_hash) REFERENCES public.statements(instance, payload_hash) ON DELETE CASCADE;
ALTER TABLE ONLY public.job_actions
    ADD CONSTRAINT job_actions_instance_action_hash_fkey FOREIGN KEY (instance, action_hash) REFERENCES public.actions(instance, hash);
ALTER TABLE ONLY public.job_actions
    ADD CONSTRAINT job_actions_instance_job_id_fkey FOREIGN KEY (instance, job_id) REFERENCES public.jobs(instance, id) ON DELETE CASCADE;
ALTER TABLE ONLY public.job_targets
    ADD CONSTRAINT job_targets_instance_job_id_fkey FOREIGN KEY (instance, job_id) REFERENCES public.jobs(instance, id) ON DELETE CASCADE;
ALTER TABLE ONLY public.materials
    ADD CONSTRAINT materials_instance_payload_hash_fkey FOREIGN KEY (instance, payload_hash) REFERENCES public.statements(instance, payload_hash) ON DELETE CASCADE;
ALTER TABLE ONLY public.runs
    ADD CONSTRAINT runs_instance_action_hash_fkey FOREIGN KEY (instance, action_hash) REFERENCES public.actions(instance, hash);
ALTER TABLE ONLY public.runs
    ADD CONSTRAINT runs_instance_job_id_fkey FOREIGN KEY (instance, job_id) REFERENCES public.jobs(instance, id) ON DELETE CASCADE;
ALTER TABLE ONLY public.sources
    ADD CONSTRAINT sources_instance_job_id_fkey FOREIGN KEY (instance, job_id) REFERENCES public.jobs(instance, id) ON DELETE CASCADE;
ALTER TABLE ONLY public.statements
    ADD CONSTRAINT statements_instance_artifact_hash_fkey FOREIGN KEY (instance, artifact_hash) REFERENCES public.artifacts(instance, hash) ON DELETE CASCADE;
ALTER TABLE ONLY public.toolchain_defaults
    ADD CONSTRAINT toolchain_defaults_instance_label_fkey FOREIGN KEY (instance, label) REFERENCES public.toolchains(instance, label);
