-- Finds vectors by indexes of the extension pgvector, which the service makes for graphs whose vectors do not fit into a
-- process's memory. Nothing here needs the extension.

-- The numbers of a vector, from -127 to 127. It takes .1 ms for 384 numbers.
CREATE FUNCTION vector_numbers(p_vector bytea) RETURNS real[] LANGUAGE plpgsql IMMUTABLE STRICT PARALLEL SAFE AS $$
DECLARE
  numbers real[];
  number int;
BEGIN
  FOR place IN 0 .. length(p_vector) - 1 LOOP
    number := get_byte(p_vector, place);
    numbers[place + 1] := CASE WHEN number > 127 THEN number - 256 ELSE number END;
  END LOOP;
  RETURN numbers;
END $$;

-- The name of the index of a graph's vectors by a model.
CREATE FUNCTION near_vectors_index(p_graph_id uuid, p_model text, p_dimension int) RETURNS text
  LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE AS $$
  SELECT format('near_vectors_%s_%s_%s', replace(p_graph_id::text, '-', ''), left(md5(p_model), 8), p_dimension)
$$;

-- The statement that makes this index.
CREATE FUNCTION near_vectors_index_made(p_graph_id uuid, p_model text, p_dimension int) RETURNS text
  LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE AS $$
  SELECT format(
    'CREATE INDEX CONCURRENTLY IF NOT EXISTS %I ON memory_vector '
      'USING hnsw ((vector_numbers(vector)::halfvec(%s)) halfvec_cosine_ops) '
      'WHERE graph_id = %L AND model = %L AND length(vector) = %s',
    near_vectors_index(p_graph_id, p_model, p_dimension), p_dimension, p_graph_id, p_model, p_dimension)
$$;

-- The vectors of a graph, or of the memories `p_among`, that are nearest to one of `p_numbers`, the nearest first. NULL
-- without their index, or while it is made.
CREATE FUNCTION near_vectors(p_graph_id uuid, p_model text, p_numbers int[], p_among uuid[], p_most int) RETURNS json
  LANGUAGE plpgsql STABLE AS $$
DECLARE
  dimension int := cardinality(p_numbers);
  found json;
BEGIN
  IF NOT EXISTS (
    SELECT FROM pg_index WHERE indisvalid
      AND indexrelid = to_regclass(near_vectors_index(p_graph_id, p_model, dimension))) THEN
    RETURN NULL;
  END IF;
  -- The index chooses among so many.
  PERFORM set_config('hnsw.ef_search', least(1000, 2 * p_most)::text, true);
  EXECUTE format(
    'SELECT coalesce(json_agg(hit ORDER BY hit.score DESC, hit.owner), ''[]'') FROM ('
      'SELECT near.memory_id AS owner, near.version, near.piece, 1 - near.distance AS score, '
        '(SELECT count(*) FROM memory_vector AS each '
        'WHERE each.graph_id = %1$L AND each.memory_id = near.memory_id AND each.model = %2$L) AS pieces '
      'FROM (SELECT memory_id, version, piece, '
        '(vector_numbers(vector)::halfvec(%3$s) <=> $1::halfvec(%3$s)) %4$s AS distance FROM memory_vector '
        'WHERE graph_id = %1$L AND model = %2$L AND length(vector) = %3$s %5$s '
        'ORDER BY distance LIMIT $2) AS near) AS hit',
    p_graph_id, p_model, dimension,
    -- The index orders by the distance alone. It would find few of those that pass a filter.
    CASE WHEN p_among IS NOT NULL THEN '+ 0' END, CASE WHEN p_among IS NOT NULL THEN 'AND memory_id = ANY ($3)' END)
    INTO found USING p_numbers, p_most, p_among;
  RETURN found;
END $$;
