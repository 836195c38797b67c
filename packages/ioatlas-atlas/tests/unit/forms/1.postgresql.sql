CREATE TABLE public.account (
    id text NOT NULL,
    name text NOT NULL,
    kind text NOT NULL,
    vendor text NOT NULL,
    created_at double precision NOT NULL,
    disabled_at double precision
);
COMMENT ON COLUMN public.account.kind IS 'member, vendor or moderator';
COMMENT ON COLUMN public.account.vendor IS 'slug of the vendor that a vendor''s account speaks for';
CREATE TABLE public.atlas_schema (
    version integer NOT NULL,
    applied_at double precision NOT NULL
);
CREATE SEQUENCE public.atlas_schema_version_seq
    AS integer
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1;
ALTER SEQUENCE public.atlas_schema_version_seq OWNED BY public.atlas_schema.version;
CREATE TABLE public.audit (
    id bigint NOT NULL,
    at double precision NOT NULL,
    account_id text NOT NULL,
    action text NOT NULL,
    subject text NOT NULL,
    detail json NOT NULL
);
COMMENT ON COLUMN public.audit.account_id IS ''''' for the command line of the service';
CREATE SEQUENCE public.audit_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1;
ALTER SEQUENCE public.audit_id_seq OWNED BY public.audit.id;
CREATE TABLE public.cell (
    result_id text NOT NULL,
    number integer NOT NULL,
    target text NOT NULL,
    cell_key text NOT NULL,
    direction text NOT NULL,
    rw text NOT NULL,
    bs_bytes bigint NOT NULL,
    iodepth bigint NOT NULL,
    numjobs bigint NOT NULL,
    footprint_bytes bigint NOT NULL,
    streams text NOT NULL,
    loop text NOT NULL,
    options json NOT NULL,
    n_visits integer NOT NULL,
    iops double precision,
    iops_low double precision,
    iops_high double precision,
    bw_bytes_per_s double precision,
    bw_low double precision,
    bw_high double precision,
    lat_mean_ns double precision,
    lat_mean_low_ns double precision,
    lat_mean_high_ns double precision,
    lat_p99_ns double precision,
    lat_p99_low_ns double precision,
    lat_p99_high_ns double precision,
    verdict text NOT NULL,
    cached boolean NOT NULL,
    usable boolean NOT NULL
);
COMMENT ON COLUMN public.cell.options IS 'swept options in fio''s names';
COMMENT ON COLUMN public.cell.usable IS 'a value of the target: not cached, not withheld';
CREATE TABLE public.credit (
    account_id text NOT NULL,
    what text NOT NULL,
    subject text NOT NULL,
    points integer NOT NULL,
    at double precision NOT NULL
);
COMMENT ON COLUMN public.credit.what IS 'result, reproduction or reply';
CREATE TABLE public.idempotency (
    account_id text NOT NULL,
    key text NOT NULL,
    request_sha256 text NOT NULL,
    result_id text NOT NULL,
    at double precision NOT NULL
);
CREATE TABLE public.product (
    id text NOT NULL,
    vendor text NOT NULL,
    model text NOT NULL,
    vendor_slug text NOT NULL,
    words text NOT NULL,
    added_at double precision NOT NULL
);
COMMENT ON COLUMN public.product.id IS 'slug of vendor and model';
COMMENT ON COLUMN public.product.words IS 'vendor and model, lower case';
CREATE TABLE public.reply (
    id text NOT NULL,
    result_id text NOT NULL,
    account_id text NOT NULL,
    kind text NOT NULL,
    version integer NOT NULL,
    text text NOT NULL,
    written_at double precision NOT NULL
);
COMMENT ON COLUMN public.reply.kind IS 'vendor or evaluator';
COMMENT ON COLUMN public.reply.version IS 'from 1; older versions stay';
CREATE TABLE public.reproduction (
    result_id text NOT NULL,
    by_result_id text NOT NULL,
    account_id text NOT NULL,
    outcome text NOT NULL,
    text text NOT NULL,
    at double precision NOT NULL
);
COMMENT ON COLUMN public.reproduction.outcome IS 'reproduced, differs or not comparable';
CREATE TABLE public.result (
    id text NOT NULL,
    bundle_sha256 text,
    bundle_bytes bigint NOT NULL,
    owner_id text NOT NULL,
    product_id text,
    title text NOT NULL,
    words text NOT NULL,
    state text NOT NULL,
    reason text NOT NULL,
    wants_private boolean NOT NULL,
    embargo text NOT NULL,
    permission text NOT NULL,
    sponsor text,
    conflict text,
    flag text NOT NULL,
    licence_says text NOT NULL,
    verified boolean NOT NULL,
    signature text NOT NULL,
    signer text NOT NULL,
    protocol text NOT NULL,
    link text NOT NULL,
    drive text NOT NULL,
    price_per_tib double precision,
    currency text NOT NULL,
    conditions json NOT NULL,
    checks json NOT NULL,
    summary json NOT NULL,
    grade text NOT NULL,
    campaign_id text NOT NULL,
    procedure text NOT NULL,
    measured_at double precision NOT NULL,
    uploaded_at double precision NOT NULL,
    method_version text NOT NULL,
    tool_version text NOT NULL,
    licence text NOT NULL,
    reproduced integer NOT NULL
);
COMMENT ON COLUMN public.result.bundle_sha256 IS 'NULL once it was deleted';
COMMENT ON COLUMN public.result.words IS 'what free text is looked for in, lower case';
COMMENT ON COLUMN public.result.reason IS 'why it has that state, in one sentence';
COMMENT ON COLUMN public.result.licence_says IS 'of the product, about publishing results';
COMMENT ON COLUMN public.result.signer IS 'fingerprint of the key that signed the bundle';
COMMENT ON COLUMN public.result.licence IS 'of the data, SPDX';
COMMENT ON COLUMN public.result.reproduced IS 'by how many others';
CREATE TABLE public.token (
    id text NOT NULL,
    account_id text NOT NULL,
    hash text NOT NULL,
    scopes text NOT NULL,
    label text NOT NULL,
    created_at double precision NOT NULL,
    expires_at double precision,
    revoked_at double precision
);
COMMENT ON COLUMN public.token.hash IS 'SHA-256 of the secret half, which is random';
CREATE TABLE public.trace (
    id bigint NOT NULL,
    result_id text NOT NULL,
    at double precision NOT NULL,
    what text NOT NULL,
    text text NOT NULL
);
COMMENT ON COLUMN public.trace.result_id IS 'stays when the result is deleted';
COMMENT ON COLUMN public.trace.what IS 'published, corrected, withdrawn, deleted, flagged, cleared';
CREATE SEQUENCE public.trace_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1;
ALTER SEQUENCE public.trace_id_seq OWNED BY public.trace.id;
ALTER TABLE ONLY public.atlas_schema ALTER COLUMN version SET DEFAULT nextval('public.atlas_schema_version_seq'::regclass);
ALTER TABLE ONLY public.audit ALTER COLUMN id SET DEFAULT nextval('public.audit_id_seq'::regclass);
ALTER TABLE ONLY public.trace ALTER COLUMN id SET DEFAULT nextval('public.trace_id_seq'::regclass);
INSERT INTO public.account VALUES ('0c2746230d3c280f', 'anna', 'member', '', 1795439766.0083873, NULL);
INSERT INTO public.account VALUES ('8a3600e996313bf7', 'bert', 'member', '', 1795439766.0225065, NULL);
INSERT INTO public.account VALUES ('ea7f2ec4b0c12be7', 'contoso', 'vendor', 'contoso', 1795439766.0416083, NULL);
INSERT INTO public.atlas_schema VALUES (1, 1795439765.997605);
INSERT INTO public.audit VALUES (1, 1795439766.0174665, '', 'account made', 'anna', '{"kind": "member", "vendor": ""}');
INSERT INTO public.audit VALUES (2, 1795439766.024705, '', 'account made', 'bert', '{"kind": "member", "vendor": ""}');
INSERT INTO public.audit VALUES (3, 1795439766.0433695, '', 'account made', 'contoso', '{"kind": "vendor", "vendor": "contoso"}');
INSERT INTO public.audit VALUES (4, 1795439766.1134427, '0c2746230d3c280f', 'upload', 'old0000001', '{"sha256": "49e5e69a7c8430e3a729648774b88d02226f90493e508df9e1780a96a65f4d2f", "state": "public"}');
INSERT INTO public.audit VALUES (5, 1795439766.1947815, '0c2746230d3c280f', 'upload', 'old0000002', '{"sha256": "866363b8fdd7eec53b566059ebbed77f804bebb2d13cfe1dab1721f56c638a8d", "state": "private"}');
INSERT INTO public.audit VALUES (6, 1795439766.248939, '0c2746230d3c280f', 'upload', 'old0000003', '{"sha256": "638b8676b0e04b512530828fe0d54439c88e5d16bd34615b2b473f55d19c0939", "state": "private"}');
INSERT INTO public.audit VALUES (7, 1795439766.3433478, '8a3600e996313bf7', 'upload', 'old0000004', '{"sha256": "290aa7c82980ca6c61f2626ccb7b490d50417e87cdca0c797038b2b131da9bf7", "state": "embargoed"}');
INSERT INTO public.audit VALUES (8, 1795439766.3930342, '8a3600e996313bf7', 'upload', 'old0000005', '{"sha256": "d9373fc0d55850b5a2dd7c55cfd53e01b4f3a9d85a2feb7abfc88e5ea267cfe0", "state": "embargoed"}');
INSERT INTO public.audit VALUES (9, 1795439766.429675, '8a3600e996313bf7', 'upload', 'old0000006', '{"sha256": "eec6ae22c7576fa05cdf6aa4b598e0d2a4e5ec7aaba0f87d953f8c47eb05e4d8", "state": "public"}');
INSERT INTO public.audit VALUES (10, 1795439766.4611359, '8a3600e996313bf7', 'withdraw', 'old0000006', '{"reason": "a cable"}');
INSERT INTO public.audit VALUES (11, 1795439766.4980693, 'ea7f2ec4b0c12be7', 'reply', 'old0000001', '{"kind": "vendor", "version": 1}');
INSERT INTO public.cell VALUES ('old0000001', 0, 'target', '0000000000000000', 'read', 'randread', 4096, 1, 1, 1073741824, '', 'closed', '{}', 3, 10000, 9000, 11000, 40960000, 36864000, 45056000, 2000000, 1800000, 2200000, 4000000, 3600000, 4400000, 'steady', false, true);
INSERT INTO public.cell VALUES ('old0000001', 1, 'target', '0000000000000000', 'write', 'randwrite', 4096, 1, 1, 1073741824, '', 'closed', '{}', 3, 10000, 9000, 11000, 40960000, 36864000, 45056000, 2000000, 1800000, 2200000, 4000000, 3600000, 4400000, 'steady', false, true);
INSERT INTO public.cell VALUES ('old0000002', 0, 'target', '0000000000000000', 'read', 'randread', 4096, 1, 1, 1073741824, '', 'closed', '{}', 3, 10000, 9000, 11000, 40960000, 36864000, 45056000, 2000000, 1800000, 2200000, 4000000, 3600000, 4400000, 'steady', false, true);
INSERT INTO public.cell VALUES ('old0000003', 0, 'target', '0000000000000000', 'read', 'randread', 4096, 1, 1, 1073741824, '', 'closed', '{}', 3, 10000, 9000, 11000, 40960000, 36864000, 45056000, 2000000, 1800000, 2200000, 4000000, 3600000, 4400000, 'steady', false, true);
INSERT INTO public.cell VALUES ('old0000004', 0, 'target', '0000000000000000', 'read', 'randread', 4096, 1, 1, 1073741824, '', 'closed', '{}', 3, 10000, 9000, 11000, 40960000, 36864000, 45056000, 2000000, 1800000, 2200000, 4000000, 3600000, 4400000, 'steady', false, true);
INSERT INTO public.cell VALUES ('old0000005', 0, 'target', '0000000000000000', 'read', 'randread', 4096, 1, 1, 1073741824, '', 'closed', '{}', 3, 10000, 9000, 11000, 40960000, 36864000, 45056000, 2000000, 1800000, 2200000, 4000000, 3600000, 4400000, 'steady', false, true);
INSERT INTO public.cell VALUES ('old0000006', 0, 'target', '0000000000000000', 'read', 'randread', 4096, 1, 1, 1073741824, '', 'closed', '{}', 3, 10000, 9000, 11000, 40960000, 36864000, 45056000, 2000000, 1800000, 2200000, 4000000, 3600000, 4400000, 'steady', false, true);
INSERT INTO public.credit VALUES ('0c2746230d3c280f', 'result', '49e5e69a7c8430e3a729648774b88d02226f90493e508df9e1780a96a65f4d2f', 1, 1795439766.1069248);
INSERT INTO public.credit VALUES ('0c2746230d3c280f', 'result', '866363b8fdd7eec53b566059ebbed77f804bebb2d13cfe1dab1721f56c638a8d', 1, 1795439766.1749456);
INSERT INTO public.credit VALUES ('0c2746230d3c280f', 'result', '638b8676b0e04b512530828fe0d54439c88e5d16bd34615b2b473f55d19c0939', 1, 1795439766.2337418);
INSERT INTO public.credit VALUES ('8a3600e996313bf7', 'result', '290aa7c82980ca6c61f2626ccb7b490d50417e87cdca0c797038b2b131da9bf7', 1, 1795439766.314618);
INSERT INTO public.credit VALUES ('8a3600e996313bf7', 'result', 'd9373fc0d55850b5a2dd7c55cfd53e01b4f3a9d85a2feb7abfc88e5ea267cfe0', 1, 1795439766.3897252);
INSERT INTO public.credit VALUES ('8a3600e996313bf7', 'result', 'eec6ae22c7576fa05cdf6aa4b598e0d2a4e5ec7aaba0f87d953f8c47eb05e4d8', 1, 1795439766.4254973);
INSERT INTO public.credit VALUES ('ea7f2ec4b0c12be7', 'reply', 'old0000001', 1, 1795439766.4917161);
INSERT INTO public.product VALUES ('contoso-n100', 'Contoso', 'N100', 'contoso', 'contoso n100', 1795439766.0724332);
INSERT INTO public.reply VALUES ('9231e1ca499150c9', 'old0000001', 'ea7f2ec4b0c12be7', 'vendor', 1, 'Thank you.', 1795439766.4853897);
INSERT INTO public.reproduction VALUES ('old0000001', 'old0000005', '8a3600e996313bf7', 'reproduced', '', 1700000000);
INSERT INTO public.result VALUES ('old0000002', '866363b8fdd7eec53b566059ebbed77f804bebb2d13cfe1dab1721f56c638a8d', 32, '0c2746230d3c280f', 'contoso-n100', 'private', 'private contoso n100 8 x 8 tb (wd80) nfs 1000 mb/s dense_map', 'private', 'its owner keeps it private', true, '', '', NULL, NULL, '', 'yes', true, 'unknown', 'SHA256:x', 'NFS', '1000 Mb/s', '8 x 8 TB (WD80)', 100, 'USD', '[]', '[]', '{}', 'B', 'c', 'dense_map', 1700000000, 1795439766.1582959, 'gates/1', '0.2.0', 'CC-BY-4.0', 0);
INSERT INTO public.result VALUES ('old0000003', '638b8676b0e04b512530828fe0d54439c88e5d16bd34615b2b473f55d19c0939', 32, '0c2746230d3c280f', 'contoso-n100', 'forbidden', 'forbidden contoso n100 8 x 8 tb (wd80) nfs 1000 mb/s dense_map', 'private', 'the product''s licence forbids publishing, and no permission is recorded', false, '', '', NULL, NULL, '', 'no', true, 'unknown', 'SHA256:x', 'NFS', '1000 Mb/s', '8 x 8 TB (WD80)', 100, 'USD', '[]', '[]', '{}', 'B', 'c', 'dense_map', 1700000000, 1795439766.2212698, 'gates/1', '0.2.0', 'CC-BY-4.0', 0);
INSERT INTO public.result VALUES ('old0000004', '290aa7c82980ca6c61f2626ccb7b490d50417e87cdca0c797038b2b131da9bf7', 32, '8a3600e996313bf7', 'contoso-n100', 'later', 'later contoso n100 8 x 8 tb (wd80) nfs 1000 mb/s dense_map', 'embargoed', 'its embargo ends on 2999-01-01', false, '2999-01-01', '', NULL, NULL, '', 'yes', true, 'unknown', 'SHA256:x', 'NFS', '1000 Mb/s', '8 x 8 TB (WD80)', 100, 'USD', '[]', '[]', '{}', 'B', 'c', 'dense_map', 1700000000, 1795439766.2814364, 'gates/1', '0.2.0', 'CC-BY-4.0', 0);
INSERT INTO public.result VALUES ('old0000005', 'd9373fc0d55850b5a2dd7c55cfd53e01b4f3a9d85a2feb7abfc88e5ea267cfe0', 32, '8a3600e996313bf7', 'contoso-n100', 'past', 'past contoso n100 8 x 8 tb (wd80) nfs 1000 mb/s dense_map', 'embargoed', 'its embargo ends on 2999-01-01', false, '2026-01-01', '', NULL, NULL, '', 'yes', true, 'unknown', 'SHA256:x', 'NFS', '1000 Mb/s', '8 x 8 TB (WD80)', 100, 'USD', '[]', '[]', '{}', 'B', 'c', 'dense_map', 1700000000, 1795439766.3630173, 'gates/1', '0.2.0', 'CC-BY-4.0', 0);
INSERT INTO public.result VALUES ('old0000001', '49e5e69a7c8430e3a729648774b88d02226f90493e508df9e1780a96a65f4d2f', 32, '0c2746230d3c280f', 'contoso-n100', 'public', 'public contoso n100 8 x 8 tb (wd80) nfs 1000 mb/s dense_map', 'public', 'anybody may read it', false, '', '', NULL, NULL, '', 'yes', true, 'unknown', 'SHA256:x', 'NFS', '1000 Mb/s', '8 x 8 TB (WD80)', 100, 'USD', '[]', '[]', '{}', 'B', 'c', 'dense_map', 1700000000, 1795439766.0724332, 'gates/1', '0.2.0', 'CC-BY-4.0', 1);
INSERT INTO public.result VALUES ('old0000006', 'eec6ae22c7576fa05cdf6aa4b598e0d2a4e5ec7aaba0f87d953f8c47eb05e4d8', 32, '8a3600e996313bf7', 'contoso-n100', 'withdrawn', 'withdrawn contoso n100 8 x 8 tb (wd80) nfs 1000 mb/s dense_map', 'withdrawn', 'a cable', false, '', '', NULL, NULL, '', 'yes', true, 'unknown', 'SHA256:x', 'NFS', '1000 Mb/s', '8 x 8 TB (WD80)', 100, 'USD', '[]', '[]', '{}', 'B', 'w', 'dense_map', 1700000000, 1795439766.398956, 'gates/1', '0.2.0', 'CC-BY-4.0', 0);
INSERT INTO public.trace VALUES (1, 'old0000001', 1795439766.0724332, 'taken in', 'anybody may read it');
INSERT INTO public.trace VALUES (2, 'old0000002', 1795439766.1582959, 'taken in', 'its owner keeps it private');
INSERT INTO public.trace VALUES (3, 'old0000003', 1795439766.2212698, 'taken in', 'the product''s licence forbids publishing, and no permission is recorded');
INSERT INTO public.trace VALUES (4, 'old0000004', 1795439766.2814364, 'taken in', 'its embargo ends on 2999-01-01');
INSERT INTO public.trace VALUES (5, 'old0000005', 1795439766.3630173, 'taken in', 'its embargo ends on 2999-01-01');
INSERT INTO public.trace VALUES (6, 'old0000006', 1795439766.398956, 'taken in', 'anybody may read it');
INSERT INTO public.trace VALUES (7, 'old0000006', 1795439766.4582572, 'withdrawn', 'a cable');
INSERT INTO public.trace VALUES (8, 'old0000001', 1795439766.4873164, 'reply', 'the vendor replied');
SELECT pg_catalog.setval('public.atlas_schema_version_seq', 1, false);
SELECT pg_catalog.setval('public.audit_id_seq', 11, true);
SELECT pg_catalog.setval('public.trace_id_seq', 8, true);
ALTER TABLE ONLY public.account
    ADD CONSTRAINT account_name_key UNIQUE (name);
ALTER TABLE ONLY public.account
    ADD CONSTRAINT account_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.atlas_schema
    ADD CONSTRAINT atlas_schema_pkey PRIMARY KEY (version);
ALTER TABLE ONLY public.audit
    ADD CONSTRAINT audit_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.cell
    ADD CONSTRAINT cell_pkey PRIMARY KEY (result_id, number);
ALTER TABLE ONLY public.credit
    ADD CONSTRAINT credit_pkey PRIMARY KEY (account_id, what, subject);
ALTER TABLE ONLY public.idempotency
    ADD CONSTRAINT idempotency_pkey PRIMARY KEY (account_id, key);
ALTER TABLE ONLY public.product
    ADD CONSTRAINT product_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.reply
    ADD CONSTRAINT reply_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.reproduction
    ADD CONSTRAINT reproduction_pkey PRIMARY KEY (result_id, by_result_id);
ALTER TABLE ONLY public.result
    ADD CONSTRAINT result_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.token
    ADD CONSTRAINT token_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.trace
    ADD CONSTRAINT trace_pkey PRIMARY KEY (id);
CREATE INDEX cell_bandwidth ON public.cell USING btree (rw, bs_bytes, direction, usable, bw_low);
CREATE INDEX cell_rate ON public.cell USING btree (rw, bs_bytes, direction, usable, iops_low);
CREATE INDEX ix_audit_at ON public.audit USING btree (at);
CREATE INDEX ix_idempotency_at ON public.idempotency USING btree (at);
CREATE INDEX ix_product_vendor_slug ON public.product USING btree (vendor_slug);
CREATE INDEX ix_reply_result_id ON public.reply USING btree (result_id);
CREATE INDEX ix_result_owner_id ON public.result USING btree (owner_id);
CREATE INDEX ix_result_product_id ON public.result USING btree (product_id);
CREATE INDEX ix_trace_result_id ON public.trace USING btree (result_id);
CREATE UNIQUE INDEX reply_version ON public.reply USING btree (result_id, account_id, version);
CREATE INDEX result_bundle ON public.result USING btree (bundle_sha256);
CREATE INDEX result_newest ON public.result USING btree (state, uploaded_at, id);
CREATE UNIQUE INDEX result_owner_bundle ON public.result USING btree (owner_id, bundle_sha256);
CREATE INDEX result_price ON public.result USING btree (state, currency, price_per_tib, id);
ALTER TABLE ONLY public.cell
    ADD CONSTRAINT cell_result_id_fkey FOREIGN KEY (result_id) REFERENCES public.result(id) ON DELETE CASCADE;
ALTER TABLE ONLY public.credit
    ADD CONSTRAINT credit_account_id_fkey FOREIGN KEY (account_id) REFERENCES public.account(id) ON DELETE CASCADE;
ALTER TABLE ONLY public.idempotency
    ADD CONSTRAINT idempotency_account_id_fkey FOREIGN KEY (account_id) REFERENCES public.account(id) ON DELETE CASCADE;
ALTER TABLE ONLY public.reply
    ADD CONSTRAINT reply_account_id_fkey FOREIGN KEY (account_id) REFERENCES public.account(id);
ALTER TABLE ONLY public.reply
    ADD CONSTRAINT reply_result_id_fkey FOREIGN KEY (result_id) REFERENCES public.result(id) ON DELETE CASCADE;
ALTER TABLE ONLY public.reproduction
    ADD CONSTRAINT reproduction_account_id_fkey FOREIGN KEY (account_id) REFERENCES public.account(id);
ALTER TABLE ONLY public.reproduction
    ADD CONSTRAINT reproduction_by_result_id_fkey FOREIGN KEY (by_result_id) REFERENCES public.result(id) ON DELETE CASCADE;
ALTER TABLE ONLY public.reproduction
    ADD CONSTRAINT reproduction_result_id_fkey FOREIGN KEY (result_id) REFERENCES public.result(id) ON DELETE CASCADE;
ALTER TABLE ONLY public.result
    ADD CONSTRAINT result_owner_id_fkey FOREIGN KEY (owner_id) REFERENCES public.account(id);
ALTER TABLE ONLY public.result
    ADD CONSTRAINT result_product_id_fkey FOREIGN KEY (product_id) REFERENCES public.product(id);
ALTER TABLE ONLY public.token
    ADD CONSTRAINT token_account_id_fkey FOREIGN KEY (account_id) REFERENCES public.account(id) ON DELETE CASCADE;
