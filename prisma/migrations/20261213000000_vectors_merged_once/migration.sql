-- As before, with the same result, but the words of the text are merged last: before, they were copied with each other part.
-- Only words of the title, the tags and the text have positions, so what stands between them moves none.
CREATE OR REPLACE FUNCTION memory_search(type text, title text, tags text[], summary text, content text) RETURNS tsvector
  LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE
AS $$
DECLARE
  in_title tsvector := text_search(title);
  in_tags tsvector := text_search(array_to_string(tags, ' '));
  body text := coalesce(summary || ' ', '') || content;
  signs text := left(regexp_replace(fold_accents(title || array_to_string(tags, '') || body),
    '[[:alnum:][:space:]]+', '', 'g'), 5000);
  whole text[] := ARRAY[':' || type];
  tag text;
BEGIN
  FOREACH tag IN ARRAY tags LOOP
    whole := whole || ('=' || tag);
  END LOOP;
  RETURN (in_title || in_tags
    || mark_words('^', strip(in_title || to_tsvector('simple', plain_words(set_apart(fold_accents(title))))))
    || mark_words('#', in_tags)
    || array_to_tsvector(whole || string_to_array(signs, NULL))) || text_search(body);
END $$;
