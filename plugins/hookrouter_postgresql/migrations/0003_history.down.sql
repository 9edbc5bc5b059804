-- What is lost here is in the machines' own files, as long as these are kept, and is brought anew.
DROP TABLE {schema}.history_count;
DROP TABLE {schema}.story;
DROP TABLE {schema}.history_file;
DROP TABLE {schema}.history_machine;
