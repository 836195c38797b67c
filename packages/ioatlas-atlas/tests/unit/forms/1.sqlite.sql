BEGIN TRANSACTION;
CREATE TABLE account (
	id TEXT NOT NULL, 
	name TEXT NOT NULL, 
	kind TEXT NOT NULL, 
	vendor TEXT NOT NULL, 
	created_at DOUBLE NOT NULL, 
	disabled_at DOUBLE, 
	PRIMARY KEY (id), 
	UNIQUE (name)
);
INSERT INTO "account" VALUES('6e20118f459ea79e','anna','member','',1.79543976146232151991e+09,NULL);
INSERT INTO "account" VALUES('47dedf226785cf60','bert','member','',1.79543976146982908249e+09,NULL);
INSERT INTO "account" VALUES('709120f8a53ed35f','contoso','vendor','contoso',1.79543976147536015505e+09,NULL);
CREATE TABLE atlas_schema (
	version INTEGER NOT NULL, 
	applied_at DOUBLE NOT NULL, 
	PRIMARY KEY (version)
);
INSERT INTO "atlas_schema" VALUES(1,1.79543976144482398033e+09);
CREATE TABLE audit (
	id INTEGER NOT NULL, 
	at DOUBLE NOT NULL, 
	account_id TEXT NOT NULL, 
	action TEXT NOT NULL, 
	subject TEXT NOT NULL, 
	detail JSON NOT NULL, 
	PRIMARY KEY (id)
);
INSERT INTO "audit" VALUES(1,1.79543976146405649188e+09,'','account made','anna','{"kind": "member", "vendor": ""}');
INSERT INTO "audit" VALUES(2,1.79543976147047471998e+09,'','account made','bert','{"kind": "member", "vendor": ""}');
INSERT INTO "audit" VALUES(3,1.79543976147605514525e+09,'','account made','contoso','{"kind": "vendor", "vendor": "contoso"}');
INSERT INTO "audit" VALUES(4,1.79543976151643848416e+09,'6e20118f459ea79e','upload','old0000001','{"sha256": "49e5e69a7c8430e3a729648774b88d02226f90493e508df9e1780a96a65f4d2f", "state": "public"}');
INSERT INTO "audit" VALUES(5,1.79543976155196714403e+09,'6e20118f459ea79e','upload','old0000002','{"sha256": "866363b8fdd7eec53b566059ebbed77f804bebb2d13cfe1dab1721f56c638a8d", "state": "private"}');
INSERT INTO "audit" VALUES(6,1.79543976158279347424e+09,'6e20118f459ea79e','upload','old0000003','{"sha256": "638b8676b0e04b512530828fe0d54439c88e5d16bd34615b2b473f55d19c0939", "state": "private"}');
INSERT INTO "audit" VALUES(7,1.79543976160282826425e+09,'47dedf226785cf60','upload','old0000004','{"sha256": "290aa7c82980ca6c61f2626ccb7b490d50417e87cdca0c797038b2b131da9bf7", "state": "embargoed"}');
INSERT INTO "audit" VALUES(8,1.79543976163146853444e+09,'47dedf226785cf60','upload','old0000005','{"sha256": "d9373fc0d55850b5a2dd7c55cfd53e01b4f3a9d85a2feb7abfc88e5ea267cfe0", "state": "embargoed"}');
INSERT INTO "audit" VALUES(9,1.79543976166590666778e+09,'47dedf226785cf60','upload','old0000006','{"sha256": "eec6ae22c7576fa05cdf6aa4b598e0d2a4e5ec7aaba0f87d953f8c47eb05e4d8", "state": "public"}');
INSERT INTO "audit" VALUES(10,1.79543976169824075692e+09,'47dedf226785cf60','withdraw','old0000006','{"reason": "a cable"}');
INSERT INTO "audit" VALUES(11,1.79543976170480394367e+09,'709120f8a53ed35f','reply','old0000001','{"kind": "vendor", "version": 1}');
CREATE TABLE cell (
	result_id TEXT NOT NULL, 
	number INTEGER NOT NULL, 
	target TEXT NOT NULL, 
	cell_key TEXT NOT NULL, 
	direction TEXT NOT NULL, 
	rw TEXT NOT NULL, 
	bs_bytes BIGINT NOT NULL, 
	iodepth BIGINT NOT NULL, 
	numjobs BIGINT NOT NULL, 
	footprint_bytes BIGINT NOT NULL, 
	streams TEXT NOT NULL, 
	loop TEXT NOT NULL, 
	options JSON NOT NULL, 
	n_visits INTEGER NOT NULL, 
	iops DOUBLE, 
	iops_low DOUBLE, 
	iops_high DOUBLE, 
	bw_bytes_per_s DOUBLE, 
	bw_low DOUBLE, 
	bw_high DOUBLE, 
	lat_mean_ns DOUBLE, 
	lat_mean_low_ns DOUBLE, 
	lat_mean_high_ns DOUBLE, 
	lat_p99_ns DOUBLE, 
	lat_p99_low_ns DOUBLE, 
	lat_p99_high_ns DOUBLE, 
	verdict TEXT NOT NULL, 
	cached BOOLEAN NOT NULL, 
	usable BOOLEAN NOT NULL, 
	PRIMARY KEY (result_id, number), 
	FOREIGN KEY(result_id) REFERENCES result (id) ON DELETE CASCADE
);
INSERT INTO "cell" VALUES('old0000001',0,'target','0000000000000000','read','randread',4096,1,1,1073741824,'','closed','{}',3,10000.0,9000.0,11000.0,40960000.0,36864000.0,45056000.0,2000000.0,1800000.0,2200000.0,4000000.0,3600000.0,4400000.0,'steady',0,1);
INSERT INTO "cell" VALUES('old0000001',1,'target','0000000000000000','write','randwrite',4096,1,1,1073741824,'','closed','{}',3,10000.0,9000.0,11000.0,40960000.0,36864000.0,45056000.0,2000000.0,1800000.0,2200000.0,4000000.0,3600000.0,4400000.0,'steady',0,1);
INSERT INTO "cell" VALUES('old0000002',0,'target','0000000000000000','read','randread',4096,1,1,1073741824,'','closed','{}',3,10000.0,9000.0,11000.0,40960000.0,36864000.0,45056000.0,2000000.0,1800000.0,2200000.0,4000000.0,3600000.0,4400000.0,'steady',0,1);
INSERT INTO "cell" VALUES('old0000003',0,'target','0000000000000000','read','randread',4096,1,1,1073741824,'','closed','{}',3,10000.0,9000.0,11000.0,40960000.0,36864000.0,45056000.0,2000000.0,1800000.0,2200000.0,4000000.0,3600000.0,4400000.0,'steady',0,1);
INSERT INTO "cell" VALUES('old0000004',0,'target','0000000000000000','read','randread',4096,1,1,1073741824,'','closed','{}',3,10000.0,9000.0,11000.0,40960000.0,36864000.0,45056000.0,2000000.0,1800000.0,2200000.0,4000000.0,3600000.0,4400000.0,'steady',0,1);
INSERT INTO "cell" VALUES('old0000005',0,'target','0000000000000000','read','randread',4096,1,1,1073741824,'','closed','{}',3,10000.0,9000.0,11000.0,40960000.0,36864000.0,45056000.0,2000000.0,1800000.0,2200000.0,4000000.0,3600000.0,4400000.0,'steady',0,1);
INSERT INTO "cell" VALUES('old0000006',0,'target','0000000000000000','read','randread',4096,1,1,1073741824,'','closed','{}',3,10000.0,9000.0,11000.0,40960000.0,36864000.0,45056000.0,2000000.0,1800000.0,2200000.0,4000000.0,3600000.0,4400000.0,'steady',0,1);
CREATE TABLE credit (
	account_id TEXT NOT NULL, 
	what TEXT NOT NULL, 
	subject TEXT NOT NULL, 
	points INTEGER NOT NULL, 
	at DOUBLE NOT NULL, 
	PRIMARY KEY (account_id, what, subject), 
	FOREIGN KEY(account_id) REFERENCES account (id) ON DELETE CASCADE
);
INSERT INTO "credit" VALUES('6e20118f459ea79e','result','49e5e69a7c8430e3a729648774b88d02226f90493e508df9e1780a96a65f4d2f',1,1.79543976151479578017e+09);
INSERT INTO "credit" VALUES('6e20118f459ea79e','result','866363b8fdd7eec53b566059ebbed77f804bebb2d13cfe1dab1721f56c638a8d',1,1.7954397615516996384e+09);
INSERT INTO "credit" VALUES('6e20118f459ea79e','result','638b8676b0e04b512530828fe0d54439c88e5d16bd34615b2b473f55d19c0939',1,1.79543976158253955842e+09);
INSERT INTO "credit" VALUES('47dedf226785cf60','result','290aa7c82980ca6c61f2626ccb7b490d50417e87cdca0c797038b2b131da9bf7',1,1.79543976160257244111e+09);
INSERT INTO "credit" VALUES('47dedf226785cf60','result','d9373fc0d55850b5a2dd7c55cfd53e01b4f3a9d85a2feb7abfc88e5ea267cfe0',1,1.79543976163115215306e+09);
INSERT INTO "credit" VALUES('47dedf226785cf60','result','eec6ae22c7576fa05cdf6aa4b598e0d2a4e5ec7aaba0f87d953f8c47eb05e4d8',1,1.7954397616558842659e+09);
INSERT INTO "credit" VALUES('709120f8a53ed35f','reply','old0000001',1,1.79543976170465850823e+09);
CREATE TABLE idempotency (
	account_id TEXT NOT NULL, 
	"key" TEXT NOT NULL, 
	request_sha256 TEXT NOT NULL, 
	result_id TEXT NOT NULL, 
	at DOUBLE NOT NULL, 
	PRIMARY KEY (account_id, "key"), 
	FOREIGN KEY(account_id) REFERENCES account (id) ON DELETE CASCADE
);
CREATE TABLE product (
	id TEXT NOT NULL, 
	vendor TEXT NOT NULL, 
	model TEXT NOT NULL, 
	vendor_slug TEXT NOT NULL, 
	words TEXT NOT NULL, 
	added_at DOUBLE NOT NULL, 
	PRIMARY KEY (id)
);
INSERT INTO "product" VALUES('contoso-n100','Contoso','N100','contoso','contoso n100',1.7954397615014986992e+09);
CREATE TABLE reply (
	id TEXT NOT NULL, 
	result_id TEXT NOT NULL, 
	account_id TEXT NOT NULL, 
	kind TEXT NOT NULL, 
	version INTEGER NOT NULL, 
	text TEXT NOT NULL, 
	written_at DOUBLE NOT NULL, 
	PRIMARY KEY (id), 
	FOREIGN KEY(result_id) REFERENCES result (id) ON DELETE CASCADE, 
	FOREIGN KEY(account_id) REFERENCES account (id)
);
INSERT INTO "reply" VALUES('9fa43698c6add26e','old0000001','709120f8a53ed35f','vendor',1,'Thank you.',1.79543976170401859285e+09);
CREATE TABLE reproduction (
	result_id TEXT NOT NULL, 
	by_result_id TEXT NOT NULL, 
	account_id TEXT NOT NULL, 
	outcome TEXT NOT NULL, 
	text TEXT NOT NULL, 
	at DOUBLE NOT NULL, 
	PRIMARY KEY (result_id, by_result_id), 
	FOREIGN KEY(result_id) REFERENCES result (id) ON DELETE CASCADE, 
	FOREIGN KEY(by_result_id) REFERENCES result (id) ON DELETE CASCADE, 
	FOREIGN KEY(account_id) REFERENCES account (id)
);
INSERT INTO "reproduction" VALUES('old0000001','old0000005','47dedf226785cf60','reproduced','',1700000000.0);
CREATE TABLE result (
	id TEXT NOT NULL, 
	bundle_sha256 TEXT, 
	bundle_bytes BIGINT NOT NULL, 
	owner_id TEXT NOT NULL, 
	product_id TEXT, 
	title TEXT NOT NULL, 
	words TEXT NOT NULL, 
	state TEXT NOT NULL, 
	reason TEXT NOT NULL, 
	wants_private BOOLEAN NOT NULL, 
	embargo TEXT NOT NULL, 
	permission TEXT NOT NULL, 
	sponsor TEXT, 
	"conflict" TEXT, 
	flag TEXT NOT NULL, 
	licence_says TEXT NOT NULL, 
	verified BOOLEAN NOT NULL, 
	signature TEXT NOT NULL, 
	signer TEXT NOT NULL, 
	protocol TEXT NOT NULL, 
	link TEXT NOT NULL, 
	drive TEXT NOT NULL, 
	price_per_tib DOUBLE, 
	currency TEXT NOT NULL, 
	conditions JSON NOT NULL, 
	checks JSON NOT NULL, 
	summary JSON NOT NULL, 
	grade TEXT NOT NULL, 
	campaign_id TEXT NOT NULL, 
	procedure TEXT NOT NULL, 
	measured_at DOUBLE NOT NULL, 
	uploaded_at DOUBLE NOT NULL, 
	method_version TEXT NOT NULL, 
	tool_version TEXT NOT NULL, 
	licence TEXT NOT NULL, 
	reproduced INTEGER NOT NULL, 
	PRIMARY KEY (id), 
	FOREIGN KEY(owner_id) REFERENCES account (id), 
	FOREIGN KEY(product_id) REFERENCES product (id)
);
INSERT INTO "result" VALUES('old0000001','49e5e69a7c8430e3a729648774b88d02226f90493e508df9e1780a96a65f4d2f',32,'6e20118f459ea79e','contoso-n100','public','public contoso n100 8 x 8 tb (wd80) nfs 1000 mb/s dense_map','public','anybody may read it',0,'','',NULL,NULL,'','yes',1,'unknown','SHA256:x','NFS','1000 Mb/s','8 x 8 TB (WD80)',100.0,'USD','[]','[]','{}','B','c','dense_map',1700000000.0,1.7954397615014986992e+09,'gates/1','0.2.0','CC-BY-4.0',1);
INSERT INTO "result" VALUES('old0000002','866363b8fdd7eec53b566059ebbed77f804bebb2d13cfe1dab1721f56c638a8d',32,'6e20118f459ea79e','contoso-n100','private','private contoso n100 8 x 8 tb (wd80) nfs 1000 mb/s dense_map','private','its owner keeps it private',1,'','',NULL,NULL,'','yes',1,'unknown','SHA256:x','NFS','1000 Mb/s','8 x 8 TB (WD80)',100.0,'USD','[]','[]','{}','B','c','dense_map',1700000000.0,1.79543976154975509643e+09,'gates/1','0.2.0','CC-BY-4.0',0);
INSERT INTO "result" VALUES('old0000003','638b8676b0e04b512530828fe0d54439c88e5d16bd34615b2b473f55d19c0939',32,'6e20118f459ea79e','contoso-n100','forbidden','forbidden contoso n100 8 x 8 tb (wd80) nfs 1000 mb/s dense_map','private','the product''s licence forbids publishing, and no permission is recorded',0,'','',NULL,NULL,'','no',1,'unknown','SHA256:x','NFS','1000 Mb/s','8 x 8 TB (WD80)',100.0,'USD','[]','[]','{}','B','c','dense_map',1700000000.0,1.79543976157368731496e+09,'gates/1','0.2.0','CC-BY-4.0',0);
INSERT INTO "result" VALUES('old0000004','290aa7c82980ca6c61f2626ccb7b490d50417e87cdca0c797038b2b131da9bf7',32,'47dedf226785cf60','contoso-n100','later','later contoso n100 8 x 8 tb (wd80) nfs 1000 mb/s dense_map','embargoed','its embargo ends on 2999-01-01',0,'2999-01-01','',NULL,NULL,'','yes',1,'unknown','SHA256:x','NFS','1000 Mb/s','8 x 8 TB (WD80)',100.0,'USD','[]','[]','{}','B','c','dense_map',1700000000.0,1.79543976160124158858e+09,'gates/1','0.2.0','CC-BY-4.0',0);
INSERT INTO "result" VALUES('old0000005','d9373fc0d55850b5a2dd7c55cfd53e01b4f3a9d85a2feb7abfc88e5ea267cfe0',32,'47dedf226785cf60','contoso-n100','past','past contoso n100 8 x 8 tb (wd80) nfs 1000 mb/s dense_map','embargoed','its embargo ends on 2999-01-01',0,'2026-01-01','',NULL,NULL,'','yes',1,'unknown','SHA256:x','NFS','1000 Mb/s','8 x 8 TB (WD80)',100.0,'USD','[]','[]','{}','B','c','dense_map',1700000000.0,1.79543976162955474856e+09,'gates/1','0.2.0','CC-BY-4.0',0);
INSERT INTO "result" VALUES('old0000006','eec6ae22c7576fa05cdf6aa4b598e0d2a4e5ec7aaba0f87d953f8c47eb05e4d8',32,'47dedf226785cf60','contoso-n100','withdrawn','withdrawn contoso n100 8 x 8 tb (wd80) nfs 1000 mb/s dense_map','withdrawn','a cable',0,'','',NULL,NULL,'','yes',1,'unknown','SHA256:x','NFS','1000 Mb/s','8 x 8 TB (WD80)',100.0,'USD','[]','[]','{}','B','w','dense_map',1700000000.0,1.79543976165429258352e+09,'gates/1','0.2.0','CC-BY-4.0',0);
CREATE TABLE token (
	id TEXT NOT NULL, 
	account_id TEXT NOT NULL, 
	hash TEXT NOT NULL, 
	scopes TEXT NOT NULL, 
	label TEXT NOT NULL, 
	created_at DOUBLE NOT NULL, 
	expires_at DOUBLE, 
	revoked_at DOUBLE, 
	PRIMARY KEY (id), 
	FOREIGN KEY(account_id) REFERENCES account (id) ON DELETE CASCADE
);
CREATE TABLE trace (
	id INTEGER NOT NULL, 
	result_id TEXT NOT NULL, 
	at DOUBLE NOT NULL, 
	what TEXT NOT NULL, 
	text TEXT NOT NULL, 
	PRIMARY KEY (id)
);
INSERT INTO "trace" VALUES(1,'old0000001',1.7954397615014986992e+09,'taken in','anybody may read it');
INSERT INTO "trace" VALUES(2,'old0000002',1.79543976154975509643e+09,'taken in','its owner keeps it private');
INSERT INTO "trace" VALUES(3,'old0000003',1.79543976157368731496e+09,'taken in','the product''s licence forbids publishing, and no permission is recorded');
INSERT INTO "trace" VALUES(4,'old0000004',1.79543976160124158858e+09,'taken in','its embargo ends on 2999-01-01');
INSERT INTO "trace" VALUES(5,'old0000005',1.79543976162955474856e+09,'taken in','its embargo ends on 2999-01-01');
INSERT INTO "trace" VALUES(6,'old0000006',1.79543976165429258352e+09,'taken in','anybody may read it');
INSERT INTO "trace" VALUES(7,'old0000006',1.79543976169797921179e+09,'withdrawn','a cable');
INSERT INTO "trace" VALUES(8,'old0000001',1.79543976170452666287e+09,'reply','the vendor replied');
CREATE INDEX ix_product_vendor_slug ON product (vendor_slug);
CREATE INDEX ix_trace_result_id ON trace (result_id);
CREATE INDEX ix_audit_at ON audit (at);
CREATE UNIQUE INDEX result_owner_bundle ON result (owner_id, bundle_sha256);
CREATE INDEX result_bundle ON result (bundle_sha256);
CREATE INDEX ix_result_product_id ON result (product_id);
CREATE INDEX result_newest ON result (state, uploaded_at, id);
CREATE INDEX result_price ON result (state, currency, price_per_tib, id);
CREATE INDEX ix_result_owner_id ON result (owner_id);
CREATE INDEX ix_idempotency_at ON idempotency (at);
CREATE INDEX cell_bandwidth ON cell (rw, bs_bytes, direction, usable, bw_low);
CREATE INDEX cell_rate ON cell (rw, bs_bytes, direction, usable, iops_low);
CREATE UNIQUE INDEX reply_version ON reply (result_id, account_id, version);
CREATE INDEX ix_reply_result_id ON reply (result_id);
COMMIT;
