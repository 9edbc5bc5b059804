DO $$
BEGIN
  IF EXISTS (SELECT FROM {schema}.document WHERE body IS NOT NULL) THEN
    RAISE EXCEPTION 'there are documents' USING ERRCODE = 'object_not_in_prerequisite_state';
  END IF;
END
$$;

DROP TABLE {schema}.put_aside;
DROP TABLE {schema}.document;
DROP SEQUENCE {schema}.version;
