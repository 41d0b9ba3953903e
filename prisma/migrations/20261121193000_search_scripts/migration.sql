-- As before, and numbers are found in the digits of any script, Arabic words in the letters that people write for each
-- other. A few characters stand for up to 18, so what a text becomes is cut at twice its length.
CREATE OR REPLACE FUNCTION fold_accents(value text) RETURNS text
  LANGUAGE sql IMMUTABLE PARALLEL SAFE STRICT
  RETURN CASE WHEN octet_length(value) = char_length(value) THEN value ELSE
    left(normalize(regexp_replace(normalize(
      replace(replace(replace(replace(replace(replace(
        translate(value,
          U&'øØłŁđĐı™℠\0649\06cc\06a9\0629\0671'
          '\0660\0661\0662\0663\0664\0665\0666\0667\0668\0669\06f0\06f1\06f2\06f3\06f4\06f5\06f6\06f7\06f8\06f9'
          '\0966\0967\0968\0969\096a\096b\096c\096d\096e\096f\0e50\0e51\0e52\0e53\0e54\0e55\0e56\0e57\0e58\0e59',
          U&'oOlLdDi  \064a\064a\0643\0647\0627'
          '0123456789012345678901234567890123456789'),
        'ß', 'ss'), 'ẞ', 'SS'), 'æ', 'ae'), 'Æ', 'Ae'), 'œ', 'oe'), 'Œ', 'Oe'), NFKD),
        '[\u0300-\u036f\u0591-\u05bd\u05bf\u05c1\u05c2\u05c4\u05c5\u05c7\u0610-\u061a\u0640\u064b-\u065f\u0670'
        '\u00ad\u061c\u200b-\u200f\u202a-\u202e\u2060-\u2064\ufe00-\ufe0f\ufeff]+', '', 'g'), NFC),
      2 * char_length(value) + 20) END;

-- Runs of characters without spaces between words, apart from what stands beside them: PostgreSQL would take "用Redis缓存"
-- for one word. They are Chinese, Japanese, Korean, Thai, Lao, Burmese and Khmer.
CREATE FUNCTION set_apart(value text) RETURNS text
  LANGUAGE sql IMMUTABLE PARALLEL SAFE STRICT
  RETURN CASE WHEN octet_length(value) = char_length(value) THEN value ELSE regexp_replace(value,
    ('([\u3005-\u3007\u3040-\u30ff\u3400-\u9fff\uac00-\ud7a3\uf900-\ufaff\U00020000-\U0003134f'
    '\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff]+)'),
    ' \1 ', 'g') END;

-- As before, but with these runs apart, and with each three neighbours in those of Thai, Lao, Burmese and Khmer: they have
-- so few letters that most texts have any two side by side.
CREATE OR REPLACE FUNCTION text_search(value text) RETURNS tsvector
  LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE STRICT AS $$
DECLARE
  folded text := set_apart(fold_accents(value));
  plain text := plain_words(folded);
  words tsvector := to_tsvector('english', plain) || strip(to_tsvector('word_form', plain));
  names text := '';
  parts text;
BEGIN
  IF folded ~ '[[:lower:][:digit:]][[:upper:]]|[[:upper:]][[:upper:]][[:lower:]]' THEN
    SELECT string_agg(piece[1], ' ') INTO parts FROM regexp_matches(left(folded, 20000),
      '[[:alnum:]]*(?:[[:lower:][:digit:]][[:upper:]]|[[:upper:]][[:upper:]][[:lower:]])[[:alnum:]]*', 'g') AS piece
    WHERE length(piece[1]) <= 80;
    names := regexp_replace(regexp_replace(coalesce(parts, ''), '([[:lower:][:digit:]])([[:upper:]])', '\1_\2', 'g'),
      '([[:upper:]])([[:upper:]][[:lower:]])', '\1_\2', 'g');
    parts := plain_words(names);
    words := words || strip(to_tsvector('english', parts)) || strip(to_tsvector('word_form', parts));
  END IF;
  IF folded ~ '[[:alnum:]][-_./][[:alnum:]]' THEN
    SELECT string_agg(piece[1], ' ') INTO parts
    FROM regexp_matches(left(folded, 20000), '[[:alnum:]]+(?:[-_./][[:alnum:]]+)+', 'g') AS piece
    WHERE length(piece[1]) <= 80;
    names := names || ' ' || coalesce(parts, '');
  END IF;
  FOR rest IN 1 .. 4 LOOP
    EXIT WHEN names !~ '[-_./]';
    words := words || strip(to_tsvector('word_form', translate(names, '-_./', '')));
    names := regexp_replace(names, '(^| )[[:alnum:]]+[-_./]?', '\1', 'g');
  END LOOP;
  IF octet_length(folded) = char_length(folded) THEN
    RETURN words;
  END IF;
  IF folded ~ '[\u3005-\u3007\u3040-\u30ff\u3400-\u9fff\uac00-\ud7a3\uf900-\ufaff\U00020000-\U0003134f]' THEN
    parts := regexp_replace(folded,
      '[^\u3005-\u3007\u3040-\u30ff\u3400-\u9fff\uac00-\ud7a3\uf900-\ufaff\U00020000-\U0003134f]+', ' ', 'g');
    words := words || strip(to_tsvector('word_form', regexp_replace(parts, '([^ ][^ ])', '\1 ', 'g')))
      || strip(to_tsvector('word_form',
        regexp_replace(regexp_replace(parts, '(^| )[^ ]', '\1', 'g'), '([^ ][^ ])', '\1 ', 'g')));
  END IF;
  IF folded ~ '[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff]' THEN
    parts := regexp_replace(folded, '[^\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff]+', ' ', 'g');
    FOR start IN 1 .. 3 LOOP
      words := words || strip(to_tsvector('word_form', regexp_replace(parts, '([^ ]{3})', '\1 ', 'g')));
      parts := regexp_replace(parts, '(^| )[^ ]', '\1', 'g');
    END LOOP;
  END IF;
  RETURN words;
END $$;

-- As before, but with these runs of a title apart.
CREATE OR REPLACE FUNCTION memory_search(type text, title text, tags text[], summary text, content text) RETURNS tsvector
  LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE AS $$
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
  RETURN in_title || in_tags || text_search(body)
    || mark_words('^', strip(in_title || to_tsvector('simple', plain_words(set_apart(fold_accents(title))))))
    || mark_words('#', in_tags)
    || array_to_tsvector(whole)
    || array_to_tsvector(string_to_array(signs, NULL));
END $$;

-- Whether a text has a character that is read otherwise since this migration.
CREATE FUNCTION is_read_anew(value text) RETURNS boolean
  LANGUAGE sql IMMUTABLE PARALLEL SAFE STRICT
  RETURN octet_length(value) <> char_length(value) AND value ~
    ('[\u0629\u0649\u0660-\u0669\u0671\u06a9\u06cc\u06f0-\u06f9\u0966-\u096f'
    '\u3005-\u3007\u3040-\u30ff\u3400-\u9fff\uac00-\ud7a3\uf900-\ufaff\U00020000-\U0003134f'
    '\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff]');

-- Only these memories are read anew: setting a column to what it is computes what they are found by.
UPDATE memory SET content = content
WHERE is_read_anew(title || ' ' || array_to_string(tags, ' ') || ' ' || coalesce(summary, '') || ' ' || content);
INSERT INTO lexicon (graph_id, word)
SELECT m.graph_id, word FROM memory m, lexicon_words(m.search) AS word
WHERE is_read_anew(title || ' ' || array_to_string(tags, ' ') || ' ' || coalesce(summary, '') || ' ' || content)
GROUP BY m.graph_id, word
ON CONFLICT DO NOTHING;
-- Words as they were before go when their graph is looked at.
UPDATE graph_usage SET words_doubted_at = now() WHERE words_doubted_at IS NULL AND graph_id IN (
  SELECT m.graph_id FROM memory m
  WHERE is_read_anew(title || ' ' || array_to_string(tags, ' ') || ' ' || coalesce(summary, '') || ' ' || content));
DROP FUNCTION is_read_anew(text);
