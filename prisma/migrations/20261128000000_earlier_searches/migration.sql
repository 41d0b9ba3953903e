-- What no server calls any more: the functions of earlier versions, of which `dated_search_hits` has taken the place.
DROP FUNCTION search_hits(uuid, text[], int[], text[], int[], int[], text[], float8[], float8[], boolean[], text[],
  text[], float8[], int, float8[], int, int, int, float8, timestamptz, timestamptz, text, timestamptz, int, int, boolean);
DROP FUNCTION search_hits(uuid, text[], text[], int[], boolean[], text[], int[], int[], text[], float8[], float8[],
  boolean[], text[], text[], float8[], int, float8[], int, int, int, float8, timestamptz, timestamptz, text, timestamptz,
  int, int, boolean);
DROP FUNCTION newest_and_oldest(uuid, tsquery[], boolean[], tsquery, int, int, float8, float8, timestamptz, timestamptz,
  text, timestamptz);
