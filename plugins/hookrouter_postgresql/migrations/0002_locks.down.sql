DROP TABLE {schema}.lock;
