-- Events written by hand. Applications get EXECUTE on these functions and nothing on the table.

-- Orders the writers of a key: whoever holds this lock draws the next position. It must be taken before the position is
-- drawn; a position drawn first could be committed after a later one. Session memory for locks is finite, so a
-- transaction that publishes very many events takes the whole topic instead of key by key.
create function {{schema}}.lock_key(topic text, key text) returns void
language plpgsql set search_path = pg_catalog, pg_temp
as $function$
declare
  taken int := coalesce(nullif(current_setting('tidemark.key_locks', true), ''), '0')::int;
begin
  if taken >= 1000 then
    perform pg_advisory_xact_lock(hashtext({{namespace}}), hashtext(topic));
    return;
  end if;
  perform pg_advisory_xact_lock_shared(hashtext({{namespace}}), hashtext(topic));
  perform pg_advisory_xact_lock(hashtextextended(topic || chr(31) || key, hashtext({{namespace}})));
  perform set_config('tidemark.key_locks', (taken + 1)::text, true);
end
$function$;

create function {{schema}}.check_topic(topic text) returns void
language plpgsql immutable set search_path = pg_catalog, pg_temp
as $function$
begin
  if topic is null or topic !~ '^[a-zA-Z0-9._-]{1,249}$' or topic in ('.', '..') then
    raise exception 'not a legal topic name: %', coalesce(quote_literal(topic), 'null')
      using errcode = 'invalid_parameter_value',
            hint = 'Kafka allows 1 to 249 of the characters a-z A-Z 0-9 . _ -';
  end if;
  if starts_with(topic, {{namespace}} || '.') then
    raise exception 'topic % belongs to Tidemark itself', quote_literal(topic)
      using errcode = 'invalid_parameter_value',
            hint = 'Request a job with ' || {{namespace}} || '.request_job(request).';
  end if;
end
$function$;

create function {{schema}}.check_headers(headers jsonb) returns void
language plpgsql immutable set search_path = pg_catalog, pg_temp
as $function$
declare
  header record;
begin
  if headers is null or jsonb_typeof(headers) <> 'object' then
    raise exception 'headers must be a JSON object' using errcode = 'invalid_parameter_value';
  end if;
  for header in select * from jsonb_each(headers) loop
    if jsonb_typeof(header.value) not in ('string', 'null') then
      raise exception 'header % must be a string or null', quote_literal(header.key)
        using errcode = 'invalid_parameter_value';
    end if;
    if header.key ~ '^(ce_|tm_)' or header.key = 'content-type' then
      raise exception 'header % is written by the relay', quote_literal(header.key)
        using errcode = 'invalid_parameter_value';
    end if;
  end loop;
end
$function$;

create function {{schema}}.publish(
  topic text, key text, type text, payload jsonb, headers jsonb default '{}', ordered boolean default true
) returns bigint
language plpgsql security definer set search_path = pg_catalog, pg_temp
as $function$
declare
  drawn bigint;
  owner regclass;
begin
  perform {{schema}}.check_topic(publish.topic);
  perform {{schema}}.check_headers(publish.headers);
  if publish.key is null then
    raise exception 'an event needs a key: it decides the partition and the order' using errcode = 'invalid_parameter_value';
  end if;
  if publish.type is null or publish.type = '' then
    raise exception 'an event needs a type' using errcode = 'invalid_parameter_value';
  end if;
  if publish.ordered then
    perform {{schema}}.lock_key(publish.topic, publish.key);
  end if;
  -- The rows of a captured table are ordered by their own locks, which this transaction does not hold.
  select c.target into owner from {{schema}}.captures c where c.topic = publish.topic;
  if found then
    raise exception 'topic % holds the rows of table %: an event of its own could overtake a row, or pass for one',
      quote_literal(publish.topic), owner
      using errcode = 'invalid_parameter_value',
            hint = 'Publish into another topic, or change the row and let the table say it.';
  end if;
  insert into {{schema}}.outbox as written (topic, key, type, payload, headers)
    values (publish.topic, publish.key, publish.type, nullif(publish.payload, 'null'), publish.headers)
    returning written.position into drawn;
  return drawn;
end
$function$;

revoke all on function
  {{schema}}.lock_key(text, text), {{schema}}.check_topic(text), {{schema}}.check_headers(jsonb),
  {{schema}}.publish(text, text, text, jsonb, jsonb, boolean)
  from public;
